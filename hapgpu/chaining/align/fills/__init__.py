"""Global alignment of many pairs of sequences side by side."""
