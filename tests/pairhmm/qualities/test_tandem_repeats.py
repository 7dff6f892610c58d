"""Tandem repeats in reads, against GATK's definition and examples counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.memory import memory_of, part_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.pairhmm.reads.tandem_repeats import PADDING, count_row
from hapgpu.runtime.jit import njit
from tests.pairhmm.preparation_oracle import repeat_count

TEXT = st.one_of(
    st.text("AC", max_size=60),
    st.text("ACGTN", max_size=40),
    # A repeat between other bases, and a repeat truncated by the ends of the read.
    st.builds(
        lambda before, unit, copies, after: before + unit * copies + after,
        st.text("ACGT", max_size=9),
        st.text("ACGT", min_size=1, max_size=9),
        st.integers(1, 25),
        st.text("ACGT", max_size=9),
    ),
)


@njit
def _count(bases: RaggedView, padded: NDArray[np.uint8], counts: NDArray[np.uint8]) -> None:
    text, scratch, memory = memory_of(bases.data), memory_of(padded), memory_of(counts)
    for row in range(bases.offsets.size - 1):
        start, end = bases.offsets[row], bases.offsets[row + 1]
        size = end - start
        count_row(part_of(text, start, size), scratch, part_of(memory, start, size))


def counts_of(*reads: str) -> list[list[int]]:
    bases = Ragged.from_sequences(reads)
    counts = np.empty(bases.data.size, dtype=np.uint8)
    padded = np.empty(bases.data.size + PADDING, dtype=np.uint8)
    _count(view_of(bases), padded, counts)
    return [row.tolist() for row in Ragged(counts, bases.offsets)]


@given(st.lists(TEXT, max_size=5))
def test_as_gatk_defines_them(reads: list[str]) -> None:
    for read, counts in zip(reads, counts_of(*reads), strict=True):
        assert counts[:-1] == [repeat_count(read, at) for at in range(len(read) - 1)]
        assert counts[-1:] == [0][: len(read)]


@pytest.mark.parametrize(
    ("read", "counts"),
    [
        ("", []),
        ("A", [0]),
        ("AC", [1, 0]),
        ("AA", [2, 0]),
        ("AAAA", [4, 4, 4, 0]),
        # The example in GATK's source: at the fifth base the unit is C, four copies of it.
        ("TTCTTCCCC", [2, 1, 2, 2, 4, 4, 4, 4, 0]),
        # After the second A comes CACG, where no unit is repeated: the copies of C count.
        ("TACACACG", [3, 2, 3, 1, 1, 1, 1, 0]),
        ("A" * 1000, [20] * 999 + [0]),
        # Nine bases are too long for a unit: only CC and TT count.
        ("ACCGTTAGT" * 2, [2, 2, 1, 2, 2, 1, 1, 1, 1, 2, 2, 1, 2, 2, 1, 1, 1, 0]),
        ("NNN", [3, 3, 0]),
    ],
)
def test_by_hand(read: str, counts: list[int]) -> None:
    assert counts_of(read) == [counts]
