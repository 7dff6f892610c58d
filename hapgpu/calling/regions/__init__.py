"""Activity of positions, and the active regions made of it."""
