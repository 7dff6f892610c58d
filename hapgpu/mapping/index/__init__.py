"""The FM index: encoding, suffix array, BWT, file, views of the CPU and of a GPU."""
