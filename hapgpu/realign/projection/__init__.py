"""Haplotypes placed on the reference, and alignments carried over to it."""
