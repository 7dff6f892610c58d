"""Choice of the best haplotype of each read: by score, or by likelihood."""
