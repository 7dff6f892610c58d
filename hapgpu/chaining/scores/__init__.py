"""Anchors to scores and predecessors, by dynamic programming."""
