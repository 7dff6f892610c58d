"""The forward algorithm: reference, CPU (lanes, exact), CUDA, and the choice between them."""
