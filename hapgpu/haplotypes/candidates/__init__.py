"""Combinations of alleles to candidate haplotypes, phased or not, and their FASTA."""
