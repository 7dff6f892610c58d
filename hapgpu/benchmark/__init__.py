"""What `hapgpu bench` runs: one module per method."""
