"""Completion of command lines by shells: one script for each shell, made of the options."""
