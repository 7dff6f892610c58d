"""Benchmarks of `hapgpu bench`, one module per method."""
