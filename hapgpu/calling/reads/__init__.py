"""Reads at pieces of contigs, and clipped to active regions."""
