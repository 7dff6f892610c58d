"""Aligned reads of all inputs at each group of loci, and their samples."""
