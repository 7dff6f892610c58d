"""Haplotypes of a FASTA, and pairs of reads and haplotypes."""
