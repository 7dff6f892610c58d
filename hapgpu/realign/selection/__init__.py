"""Bases of reads to align, and the choice of the best haplotype: by score, or by likelihood."""
