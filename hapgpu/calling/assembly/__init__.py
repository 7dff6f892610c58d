"""Local assembly of active regions to haplotypes."""
