"""Hits to SAM records: fields and mapping quality, on the CPU and on a GPU."""
