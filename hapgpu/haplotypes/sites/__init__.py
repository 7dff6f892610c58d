"""VCF records to sites, shift ranges and loci."""
