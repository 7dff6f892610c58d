"""Minimizers to seeds, to sorted anchors."""
