"""Section of likelihoods: tables of `hapgpu pairhmm`, counted in bulk."""
