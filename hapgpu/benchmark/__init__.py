"""Benchmarks of `hapgpu bench`, one per method; `whole_runs` and `scaling` time whole commands."""
