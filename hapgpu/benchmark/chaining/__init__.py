"""Benchmarks of chaining: whole reads, single stages, ready-made anchors, kernels alone."""
