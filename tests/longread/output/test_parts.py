"""Lines of reads written part by part, each part up to the line that does not fit."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.text.builder import SLACK
from hapgpu.longread.output.parts import MAPPED, RECORDS, LinePart, WrittenLines, first_part
from hapgpu.runtime.pipeline import results_of

LINES = ((0, 0, 3), (0, 1, 4), (1, 2, 4), (3, 2, 5))
"""Read, row and size of lines: two of a read, one of an unmapped one, none of a third, and one."""
MAPPED_READS = (0, 2, 3)


def put(
    read: Integer, row: Integer, out: NDArray[np.uint8], counts: NDArray[np.int64]
) -> WrittenLines:
    """Write each line as its size, and count like the compiled functions."""
    size = 0
    for number in range(int(read), 4):
        for line in LINES:
            if line[0] != number or line[1] < row:
                continue
            if size + line[2] > out.size - SLACK:
                return WrittenLines(size, size + line[2], number, line[1])
            out[size : size + line[2]] = line[2]
            size += line[2]
            counts[RECORDS] += 1
        counts[MAPPED] += number in MAPPED_READS
    return WrittenLines(size, 0, 4, 3)


def parts_of(most: int) -> list[tuple[bytes, dict[str, int]]]:
    first: LinePart = first_part(put, np.array([7, 1, 0, 2], dtype=np.int32), 11, most)
    blocks = list(results_of(lambda part: part(), first))
    return [(block.text.tobytes(), dict(block.counts)) for block in blocks]


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(16, [16]), (15, [11, 5]), (7, [7, 4, 5]), (6, [3, 4, 4, 5]), (0, [3, 4, 4, 5])],
)
def test_parts_have_at_most_so_many_characters(most: int, sizes: list[int]) -> None:
    """A line that is longer alone is a part of its own."""
    parts = parts_of(most)
    assert [len(text) for text, _ in parts] == sizes
    assert b"".join(text for text, _ in parts) == b"".join(
        bytes([size]) * size for *_, size in LINES
    )


@pytest.mark.parametrize("most", [16, 15, 7, 6, 0])
def test_parts_count_each_line_and_read_once(most: int) -> None:
    (_, first), *others = parts_of(most)
    totals = (
        {name: first[name] + sum(part[name] for _, part in others) for name in others[0][1]}
        if others
        else first
    )
    assert (totals["records"], totals["mapped"], totals["reads"]) == (4, 3, 4)
    assert (first["bases"], first["anchors"]) == (10, 11)
    assert not any({"bases", "anchors"} & part.keys() for _, part in others)


def test_arrays_of_lines_are_freed_after_the_last_part() -> None:
    """Nothing waits for the garbage collector: a group's arrays are large."""

    class Put:
        def __call__(self, *place: Any) -> WrittenLines:
            return put(*place)

    lines = Put()
    alive = weakref.ref(lines)
    gc.disable()
    try:
        blocks = list(results_of(lambda part: part(), first_part(lines, np.array([7]), 11, 6)))
        del lines
        assert len(blocks) == 4
        assert alive() is None
    finally:
        gc.enable()
