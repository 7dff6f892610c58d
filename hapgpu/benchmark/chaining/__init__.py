"""Benchmarks of long-read mapping: whole reads, single stages, ready-made anchors."""
