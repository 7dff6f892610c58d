"""Lines of reads cut into parts of a bounded size."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.longread.output.parts import LineRange, line_parts


@pytest.mark.parametrize(
    ("most", "parts"),
    [
        (16, [(0, 3, 0, 3, 16)]),
        (15, [(0, 2, 0, 2, 11), (2, 3, 2, 3, 5)]),
        (7, [(0, 1, 0, 2, 7), (1, 2, 2, 2, 4), (2, 3, 2, 3, 5)]),
        (6, [(0, 1, 0, 1, 3), (0, 1, 1, 2, 4), (1, 2, 2, 2, 4), (2, 3, 2, 3, 5)]),
    ],
)
def test_parts_have_at_most_so_many_characters(most: int, parts: list[LineRange]) -> None:
    """Lines of 3 and 4 characters of one read, 4 of an unmapped one, and 5 of a third."""
    offsets = np.array([0, 2, 2, 3], dtype=np.int64)
    read_sizes = np.array([9, 4, 9], dtype=np.int64)
    row_sizes = np.array([3, 4, 5], dtype=np.int64)
    assert line_parts(offsets, read_sizes, row_sizes, most) == parts
