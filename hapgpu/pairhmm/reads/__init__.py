"""Likelihoods of aligned reads, on the CPU and on a GPU: pairs by locus, scorer, tables."""
