"""Likelihoods of reads given haplotypes: the forward algorithm of GATK's pair-HMM."""
