"""Arrays that stages hand on: ragged rows, batches of reads, views, bits and bytes."""
