"""Haplotypes of a FASTA, and those that each read is compared with."""
