"""Likelihoods of reads given haplotypes, and the best haplotype of each read."""
