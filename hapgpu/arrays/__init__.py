"""Arrays passed between stages: ragged rows, batches of reads, views, bits, bytes and memory."""
