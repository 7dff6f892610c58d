"""Anchors to chains: scores, chains, joins over long gaps."""
