"""Files inflated, cut at records and joined to lines on a GPU: BGZF and FASTA."""
