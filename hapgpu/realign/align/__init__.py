"""The semi-global affine aligner: reference, CPU (lanes), CUDA, and the choice between them."""
