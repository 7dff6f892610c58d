"""Semi-global affine alignment of reads to haplotypes, as GATK HaplotypeCaller does it."""
