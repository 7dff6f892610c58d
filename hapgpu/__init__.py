"""hapgpu: exact, fast haplotype and read algorithms on the GPU, and without one."""

__version__ = "0.1.0"
