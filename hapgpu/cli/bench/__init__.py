"""`hapgpu bench`: a module per method with its options; `table` prints the measurements."""
