"""Genotype likelihoods, QUAL, alleles kept and genotypes."""
