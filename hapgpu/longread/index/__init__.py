"""Minimizers of bases, and their index: construction, hash table, file, look-up."""
