"""SAM fields of a hit: RNAME, POS, CIGAR, NM, MD and AS.

Each function writes from `out[at]` on, without a bounds check, and returns the offset after the
last character that it wrote.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.io.text.fields import TAB, put_count, put_tag, put_text, text_of
from hapgpu.mapping.index.fm_index import BLOCK
from hapgpu.mapping.search.hits import (
    DELETION,
    DISTANCE_SHIFT,
    ERROR_MASK,
    INSERTION,
    KIND_MASK,
    KIND_SHIFT,
    START_MASK,
    START_SHIFT,
    STRAND_SHIFT,
    UNGAPPED,
)
from hapgpu.runtime.jit import njit_inlined

_M, _I, _D = b"MID"
_ONE: Final = ord("1")
_CARET: Final = ord("^")
_N: Final = ord("N")
_BASES: Final = text_of("ACGT")
_NM: Final = text_of("\tNM:i:")
_MD: Final = text_of("\tMD:Z:")
_PERFECT: Final = text_of("\tAS:i:0")
_MISMATCH: Final = text_of("\tAS:i:-6")  # the penalties of Bowtie 2 end to end
_GAP: Final = text_of("\tAS:i:-8")
_BLOCK = np.uint64(BLOCK)
_1 = np.uint64(1)
_2 = np.uint64(2)


class HitPlacement(NamedTuple):
    """An unpacked hit; see `hapgpu.mapping.search.hits`."""

    distance: Integer
    start: Integer
    strand: Integer
    kind: Integer
    error: Integer


@njit_inlined
def distance_of(hit: np.uint64) -> Integer:
    """Return the number of errors of a hit."""
    return np.int64(hit >> np.uint64(DISTANCE_SHIFT))


@njit_inlined
def placement_of(hit: np.uint64) -> HitPlacement:
    """Unpack a hit."""
    return HitPlacement(
        distance_of(hit),
        np.int64(hit >> np.uint64(START_SHIFT) & np.uint64(START_MASK)),
        np.int64(hit >> np.uint64(STRAND_SHIFT) & _1),
        np.int64(hit >> np.uint64(KIND_SHIFT) & np.uint64(KIND_MASK)),
        np.int64(hit & np.uint64(ERROR_MASK)),
    )


@njit_inlined
def put_position(
    contig_offsets: NDArray[np.int64],
    names: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
    start: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write RNAME, a tab and POS."""
    contig = last_at_most(contig_offsets, contig_offsets.size - 1, start)
    length = name_offsets[contig + 1] - name_offsets[contig]
    copy_bytes(names, name_offsets[contig], out, at, length)
    out[at + length] = TAB
    return put_count(out, at + length + 1, start - contig_offsets[contig] + 1)


@njit_inlined
def put_cigar(
    placement: HitPlacement, length: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write the CIGAR of a read of `length` bases."""
    before: Integer = np.int64(0)
    after: Integer = np.int64(length)
    if placement.kind != UNGAPPED:
        is_insertion = placement.kind == INSERTION
        before = placement.error
        after -= before + np.int64(is_insertion)
        if before > 0:
            at = put_count(out, at, before)
            out[at] = _M
            at += 1
        out[at] = _ONE
        out[at + 1] = _I if is_insertion else _D
        at += 2
    if after > 0:
        at = put_count(out, at, after)
        out[at] = _M
        at += 1
    return at


@njit_inlined
def reference_letter(
    planes: NDArray[np.uint64],
    others: NDArray[np.uint64],
    letter_positions: NDArray[np.int64],
    letters: NDArray[np.uint8],
    position: Integer,
) -> Integer:
    """Return the letter of the reference at a position (arrays as in `ReferenceBases`)."""
    unsigned = np.uint64(position)
    block = unsigned // _BLOCK + _1
    bit = unsigned % _BLOCK
    if not others[block] >> bit & _1:
        low = planes[_2 * block] >> bit & _1
        high = planes[_2 * block + _1] >> bit & _1
        return np.int64(_BASES[low | high << _1])
    index = last_at_most(letter_positions, letter_positions.size, position)
    if index >= 0 and letter_positions[index] == position:
        return np.int64(letters[index])
    return np.int64(_N)


@njit_inlined
def put_differences(
    placement: HitPlacement, length: Integer, letter: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write the tags NM, MD and AS of a read of `length` bases.

    `letter` is the reference letter at the error; an insertion has none.
    """
    at = put_tag(out, at, _NM, placement.distance)
    at = put_text(out, at, _MD)
    if placement.distance == 0:
        return put_text(out, put_count(out, at, length), _PERFECT)
    if placement.kind == INSERTION:
        return put_text(out, put_count(out, at, length - 1), _GAP)
    at = put_count(out, at, placement.error)
    if placement.kind == DELETION:
        out[at] = _CARET
        out[at + 1] = letter
        return put_text(out, put_count(out, at + 2, length - placement.error), _GAP)
    out[at] = letter
    return put_text(out, put_count(out, at + 1, length - placement.error - 1), _MISMATCH)
