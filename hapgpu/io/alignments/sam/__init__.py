"""Text of SAM: lines to records, records to lines, tags."""
