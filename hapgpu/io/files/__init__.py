"""Files: bytes in and out, compressed text, outputs that appear whole, index files."""
