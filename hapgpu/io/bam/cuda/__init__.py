"""BAM on a GPU: pieces of a file to checked records, their layout and fixed fields."""
