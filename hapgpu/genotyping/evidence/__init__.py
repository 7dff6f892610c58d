"""Reads clipped to loci, grouped by fragment, and the fragments that span a site."""
