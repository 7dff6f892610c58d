"""CIGARs on a GPU: NM and MD, clips, lengths, parts of reads."""
