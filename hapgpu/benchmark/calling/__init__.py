"""Benchmark of variant calling: runs with their stages, and alleles to compare."""
