"""Minimizers to seeds, without too frequent and too repetitive ones."""
