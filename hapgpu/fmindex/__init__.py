"""Mapping through an FM index: every place where a read fits with at most one error."""
