"""Chains joined over long gaps."""
