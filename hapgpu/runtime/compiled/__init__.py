"""Numba's compiled functions: compilation, storage between runs, loading."""
