"""Simulated data of which the truth is known: genomes, variants, samples, reads, alignments."""
