"""Scores to chains, by backtracking."""
