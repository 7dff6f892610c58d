"""Text of SAM: records to lines, and tags."""
