"""Local assembly of active regions: graphs of k-mers, sequence graphs, haplotypes."""
