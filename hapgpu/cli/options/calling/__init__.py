"""Options of `call`, a group per module."""
