"""Aligned reads at loci in GPU memory: the CUDA counterparts of the modules of `reads`."""
