"""Minimizers to seeds, without those that are too frequent or too repetitive."""
