"""minimap2's unstable radix sort, whose exact order several stages need."""
