"""Sequence graphs of k-mer graphs: simplification, cycles, best paths."""
