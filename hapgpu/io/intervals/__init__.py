"""Intervals of `call` in GATK's notation: texts, files, set rules, padding and exclusion."""
