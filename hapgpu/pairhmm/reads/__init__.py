"""Likelihoods of aligned reads: pairs by locus, scorer, tables."""
