"""Semi-global affine aligner: CPU (lanes), CUDA, and the choice between them."""
