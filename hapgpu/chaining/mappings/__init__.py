"""Chains to primary and secondary mappings."""
