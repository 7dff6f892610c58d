"""Lines of PAF and SAM, with and without base alignments."""
