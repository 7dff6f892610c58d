"""Sites and loci of a VCF, and the candidate haplotypes at each locus."""
