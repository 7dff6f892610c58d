"""CIGARs: encoding, building, composition, left-alignment, NM and MD, parts of reads."""
