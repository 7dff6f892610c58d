"""GPU parts of benchmarks: timing of kernels, and published methods for comparison."""
