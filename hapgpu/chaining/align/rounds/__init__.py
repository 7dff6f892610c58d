"""Alignments of pieces to alignments of mappings: dropped fills, splits, inversions."""
