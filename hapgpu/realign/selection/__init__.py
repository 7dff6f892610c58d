"""The haplotype that a read gets: by score, or by likelihood."""
