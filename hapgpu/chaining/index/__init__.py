"""Minimizer index: construction, hash table, file, look-up on the CPU and on a GPU."""
