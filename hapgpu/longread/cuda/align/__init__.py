"""Base alignment on a GPU: the stages of `hapgpu.longread.align`, with the same results."""
