"""Reads to hits: packed reads, seeds, candidates, hits."""
