"""`hapgpu bench`: a subcommand per method, and the tables they print."""
