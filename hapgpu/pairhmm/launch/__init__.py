"""Launches of `forward.cuda`: kernels, layouts, pieces, arrays."""
