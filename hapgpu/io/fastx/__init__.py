"""FASTQ and FASTA: blocks of whole records, cut on the CPU or on a GPU."""
