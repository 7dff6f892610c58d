"""Lines of PAF and SAM with base alignments, on a GPU."""
