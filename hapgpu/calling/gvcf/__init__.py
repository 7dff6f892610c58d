"""Genomic VCF: confidence of reference positions, blocks of them, and physical phasing."""
