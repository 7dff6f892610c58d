"""Events of haplotypes, variant spans, and the alleles at each position."""
