"""Section of mappings: PAF of `hapgpu chain` and minimap2, counted in bulk."""
