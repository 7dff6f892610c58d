"""The FM index: encoding, suffix array, BWT, file, views for the CPU and the GPU."""
