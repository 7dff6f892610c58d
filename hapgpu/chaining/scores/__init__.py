"""Anchors to best scores and predecessors, by dynamic programming."""
