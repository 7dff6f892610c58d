"""Chains to pieces of dynamic programming."""
