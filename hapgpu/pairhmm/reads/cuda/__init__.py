"""CUDA counterparts of the qualities, the pairs and the table."""
