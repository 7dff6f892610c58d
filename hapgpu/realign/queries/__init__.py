"""What is aligned: bases of reads with and without clipped ends, extended haplotypes."""
