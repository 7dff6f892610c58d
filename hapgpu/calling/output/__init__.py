"""Lines of VCF and genomic VCF, and realigned reads."""
