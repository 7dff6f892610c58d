"""Reads of BAM, CRAM and SAM as blocks of FASTQ or FASTA."""
