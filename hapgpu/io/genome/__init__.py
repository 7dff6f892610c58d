"""Reference sequences: FASTA, its index and digest, and regions of it."""
