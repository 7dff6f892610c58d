"""Blocks of reads to lines of SAM, one module per device."""
