"""Reads per sample and haplotype, and their table."""
