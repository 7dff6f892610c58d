"""Bases of reads to align: with and without clipped ends, in one or both orientations."""
