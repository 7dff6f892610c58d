"""Suffix arrays of texts in the simplest way, and texts to sort."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.shortread.index.suffixes.text import PackedText, word_count

TEXTS = st.one_of(
    st.sampled_from(["A", "T", "AC", "ACGT"]).flatmap(
        lambda bases: st.text(bases, min_size=1, max_size=200)
    ),
    st.builds(
        lambda unit, count, tail: unit * count + tail,
        st.text("ACGT", min_size=1, max_size=40),
        st.integers(1, 30),
        st.text("ACGT", max_size=40),
    ),
)


def codes_of(bases: str) -> NDArray[np.uint8]:
    """Return 0 to 3 for A, C, G and T."""
    return np.array(["ACGT".index(base) for base in bases], dtype=np.uint8)


def packed(codes: NDArray[np.uint8]) -> PackedText:
    """Pack a text, base by base."""
    filled = np.zeros(32 * word_count(codes.size), dtype=np.uint64)
    filled[: codes.size] = codes
    rows = filled.reshape(-1, 32)
    words = np.zeros(len(rows), dtype=np.uint64)
    for base in range(32):
        words |= rows[:, base] << np.uint64(62 - 2 * base)
    return PackedText(words, codes.size)


def sorted_suffixes(bases: str) -> list[int]:
    """Return the suffix array of a short text, the empty suffix included."""
    return sorted(range(len(bases) + 1), key=lambda start: bases[start:])


def assert_sorted(codes: NDArray[np.uint8], suffixes: NDArray[np.uint32]) -> None:
    """Check a suffix array of a text of any size, by its definition.

    Suffixes compare by their first base, and if it is the same, by the suffixes that follow it.
    """
    np.testing.assert_array_equal(np.bincount(suffixes, minlength=codes.size + 1), 1)
    rank = np.empty(codes.size + 1, dtype=np.int64)
    rank[suffixes] = np.arange(codes.size + 1)
    assert rank[codes.size] == 0
    offsets = suffixes[1:].astype(np.int64)
    keys = codes[offsets] * np.int64(codes.size + 1) + rank[offsets + 1]
    assert (np.diff(keys) > 0).all()
