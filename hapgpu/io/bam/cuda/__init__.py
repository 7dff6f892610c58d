"""BAM records on a GPU."""
