"""Chains to base-level alignments."""
