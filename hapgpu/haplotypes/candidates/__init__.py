"""Alleles combined to candidate haplotypes, phased or not, and their FASTA."""
