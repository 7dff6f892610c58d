"""Codes of bases: A 0, C 1, G 2, T and U 3, all others 4."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import ReadCodes, TargetCodes
from hapgpu.chaining.sketch.kmers import CODES
from hapgpu.runtime.jit import njit

_PADDING: Final = 16
"""Codes before the first read: an inversion may reach a few bases before its window."""
_AMBIGUOUS: Final = 4
_LAST_BASE: Final = 3


def code_reads(
    text: NDArray[np.uint8], base_starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> ReadCodes:
    """Return the codes of n reads and of their reverse complements.

    Parameters
    ----------
    text
        uint8: text with the bases.
    base_starts, lengths
        int32[n]: first base in the text, and number of bases, of each read.
    """
    ends = np.cumsum(2 * lengths.astype(np.int64))
    starts = np.concatenate(([0], ends[:-1])) + _PADDING if lengths.size else ends
    codes = np.empty(_PADDING + (int(ends[-1]) if lengths.size else 0), dtype=np.uint8)
    codes[:_PADDING] = _AMBIGUOUS
    _code_strands(
        read_only(text), read_only(base_starts), read_only(lengths), CODES, read_only(starts), codes
    )
    return ReadCodes(codes, starts, lengths)


@njit
def _code_strands(
    text: NDArray[np.uint8],
    base_starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    table: NDArray[np.uint8],
    starts: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> None:
    for read in range(lengths.size):
        length = np.int64(lengths[read])
        bases = text[base_starts[read] : base_starts[read] + length]
        forward = codes[starts[read] : starts[read] + length]
        reverse = codes[starts[read] + length : starts[read] + 2 * length]
        for k in range(length):
            forward[k] = table[bases[k]]
        for k in range(length):
            code = forward[length - 1 - k]
            reverse[k] = np.uint8(_LAST_BASE - code) if code < _AMBIGUOUS else code


def code_targets(sequences: Ragged) -> TargetCodes:
    """Return the codes of reference sequences.

    Parameters
    ----------
    sequences
        uint8 text, s rows.
    """
    return TargetCodes(
        read_only(CODES[sequences.data]),
        read_only(sequences.offsets[:-1].copy()),
        read_only(sequences.lengths),
    )
