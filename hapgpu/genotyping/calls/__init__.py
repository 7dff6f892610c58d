"""Genotype likelihoods, priors, genotypes, and their lines of VCF."""
