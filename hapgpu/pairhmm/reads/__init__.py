"""Reads with their qualities and haplotypes as pairs of the pair-HMM, and their table."""
