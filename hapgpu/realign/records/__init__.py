"""New SAM records with their tags, and all records of a file after the moves."""
