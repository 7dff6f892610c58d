"""Chains to mappings: primary and secondary ones, divergences, mapping qualities."""
