"""Alignment of one pair of sequences, by dynamic programming."""
