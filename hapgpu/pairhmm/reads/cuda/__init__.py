"""Likelihoods of records in GPU memory: pairs by locus, scorer, tables."""
