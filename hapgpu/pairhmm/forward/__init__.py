"""The forward algorithm: CPU (lanes, exact), CUDA, and the choice between them."""
