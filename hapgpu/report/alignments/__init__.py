"""Section of alignments: BAM, SAM and CRAM, counted in bulk."""
