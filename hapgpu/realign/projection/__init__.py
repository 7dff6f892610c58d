"""Alignments projected onto the reference, and the table of the reads that move."""
