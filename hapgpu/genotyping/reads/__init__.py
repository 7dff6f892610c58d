"""Aligned reads at groups of loci, clipped, and scored as fragments."""
