"""Semi-global affine aligner: reference implementation, CPU (lanes), CUDA, and dispatch."""
