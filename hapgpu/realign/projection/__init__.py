"""Haplotypes aligned with the reference, and alignments projected onto it."""
