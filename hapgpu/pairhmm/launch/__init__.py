"""What `forward.cuda` launches: kernels, layouts, pieces, staging."""
