"""Chains to base alignments (minimap2's -c and -a)."""
