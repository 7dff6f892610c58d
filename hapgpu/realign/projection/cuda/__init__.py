"""Projection of alignments onto the reference on a GPU, and their ends."""
