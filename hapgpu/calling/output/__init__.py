"""Lines of VCF, and realigned reads."""
