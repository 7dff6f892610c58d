"""Graphs of k-mers of a reference and reads, made as GATK makes them."""
