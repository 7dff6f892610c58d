"""Likelihoods of reads, genotypes, alleles kept, and INFO fields."""
