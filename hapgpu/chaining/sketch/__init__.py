"""Bases to minimizers."""
