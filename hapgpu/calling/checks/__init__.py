"""Checks of inputs before a run, whose findings would spoil the calls."""
