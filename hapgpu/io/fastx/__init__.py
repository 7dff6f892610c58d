"""FASTQ and FASTA in blocks of whole records, parsed on the CPU or on a GPU."""
