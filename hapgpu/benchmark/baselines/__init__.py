"""Baselines: published methods for comparison; only benchmarks use them."""
