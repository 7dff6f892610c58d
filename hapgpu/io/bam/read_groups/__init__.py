"""Read groups of BAM records: the samples of reads, and called haplotypes among them."""
