"""CUDA counterparts of the stages up to the mappings, and their index."""
