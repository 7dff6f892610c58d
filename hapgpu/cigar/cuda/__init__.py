"""CIGARs on a GPU: NM and MD, clips and lengths."""
