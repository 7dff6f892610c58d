"""BAM records on a GPU: their bytes, fixed fields, and the layout of their parts."""
