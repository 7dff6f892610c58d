"""Benchmarks of long-read mapping and alignment: whole reads, single stages, anchors."""
