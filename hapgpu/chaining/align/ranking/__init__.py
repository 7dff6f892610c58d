"""Aligned mappings in the order of the lines: filtered, ranked, with parents and qualities."""
