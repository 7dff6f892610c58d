"""Reads clipped to loci, joined by fragment, and the fragments that span a site."""
