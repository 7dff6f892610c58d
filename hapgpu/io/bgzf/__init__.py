"""BGZF: reader and writer."""
