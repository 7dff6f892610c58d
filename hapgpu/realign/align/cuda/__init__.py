"""Semi-global affine aligner on GPUs: buckets of pairs, layouts on lanes, exact matches."""
