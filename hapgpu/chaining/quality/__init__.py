"""Divergence and mapping quality of mappings."""
