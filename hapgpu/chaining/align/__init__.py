"""Chains to base alignments (minimap2's -c and -a).

`pipeline` runs the stages in their order:

- `start`: mappings of chains to rows, with their anchors and codes of bases,
- `pieces`: the pieces of dynamic programming between and beyond the anchors,
- `cpu`: alignment of pieces, most of them in `fills` side by side, others in `dp` one by one,
- `rounds`: steps, drops of the score, splits, inversions,
- `cigars`: final CIGARs and counts,
- `ranking`: filters, order, parents, qualities.

`batches` holds the arrays between stages, `parameters` scores and other numbers.
"""
