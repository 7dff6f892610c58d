"""Dynamic programming of base alignment: one pair, or many pairs side by side."""
