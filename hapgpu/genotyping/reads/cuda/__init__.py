"""CUDA counterparts of the reads at loci and of their evidence."""
