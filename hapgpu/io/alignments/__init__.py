"""Aligned reads in any format: recognise, open, read, write."""
