"""Minimizers to seeds, without the too frequent and the too repetitive."""
