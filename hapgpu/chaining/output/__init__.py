"""Mappings to lines of PAF."""
