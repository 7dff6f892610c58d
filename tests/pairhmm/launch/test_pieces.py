"""Index arrays of pieces."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.cuda.pieces import PieceIndices, fill_indices

GROUPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6)


@given(groups=GROUPS, data=st.data(), first=st.integers(0, 9))
def test_indices(groups: list[tuple[int, int]], data: st.DataObject, first: int) -> None:
    reads, haplotypes = np.array(groups, dtype=np.int64).T
    h = int(haplotypes.sum())
    lengths, layouts = (
        np.array(data.draw(st.lists(st.integers(0, 2), min_size=h, max_size=h)), dtype=np.int64)
        for _ in range(2)
    )
    words = np.array([3, 20, 0])
    b = len(groups)
    sizes = (b + 1, b + 1, b + 1, h + 1, h, h)
    out = PieceIndices(*(np.full(size + 2, -1, dtype=np.int32) for size in sizes))
    fill_indices(
        offsets_of(reads) + first,
        offsets_of(haplotypes) + first,
        offsets_of(lengths) + first,
        layouts.astype(np.int32),
        words,
        out,
    )
    expected = [
        offsets_of(reads),
        offsets_of(haplotypes),
        offsets_of(reads * haplotypes),
        offsets_of(lengths),
        layouts,
        offsets_of(words[layouts])[:-1],
    ]
    for found, column in zip(out, expected, strict=True):
        assert found.tolist() == [*column.tolist(), *[-1] * (found.size - column.size)]
