"""INFO fields of calls."""
