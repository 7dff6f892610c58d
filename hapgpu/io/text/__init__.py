"""Text: numbers, fields and columns; positions, contig names, excerpts for messages."""
