"""Long reads seeded by minimizers and chained, as minimap2 does it."""
