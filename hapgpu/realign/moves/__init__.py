"""Reads that get a new alignment with the reference, and the table that looks them up."""
