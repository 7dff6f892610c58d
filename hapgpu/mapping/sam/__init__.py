"""Hits to lines of SAM: fields, mapping quality, on the CPU and on a GPU."""
