"""Files in and out: alignments, VCF, FASTQ, FASTA and array files to columns, and back."""
