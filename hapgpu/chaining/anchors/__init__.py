"""Seeds to sorted anchors; checked anchors from files."""
