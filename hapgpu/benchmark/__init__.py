"""Benchmarks of `hapgpu bench`, one module per method; `whole_runs` times whole commands."""
