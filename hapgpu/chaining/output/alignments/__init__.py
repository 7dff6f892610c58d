"""Mappings with base alignments to lines of PAF and SAM."""
