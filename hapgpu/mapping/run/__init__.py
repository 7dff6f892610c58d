"""Blocks of reads to SAM records, one module per device."""
