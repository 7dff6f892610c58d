"""Base alignment of mappings: pieces between anchors, rounds, CIGARs, ranking."""
