"""BAM: header, record layout, tags, decode, encode, overlap with regions."""
