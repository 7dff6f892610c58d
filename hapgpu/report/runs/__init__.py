"""Section of run statistics: `--json` of all commands and of `hapgpu bench`."""
