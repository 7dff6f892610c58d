"""New SAM records and their tags."""
