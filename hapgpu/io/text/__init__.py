"""Numbers and fields read and written as text."""
