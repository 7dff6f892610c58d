"""SAM fields: QNAME, SEQ and QUAL of a read; RNAME, POS, CIGAR, NM, MD and AS of a hit.

Each function writes from `out[at]` on, without a bounds check, and returns the offset after the
last character that it wrote.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.io.text.fields import STAR, TAB, put_count, put_tag, put_text, text_of
from hapgpu.runtime.jit import njit_inlined
from hapgpu.shortread.index.fm_index import BLOCK
from hapgpu.shortread.search.hits import (
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

_NO_BASES: Final = text_of("*\t*")
_LETTERS: Final = b"ABCDGHKMNRSTUVWY"
_COMPLEMENT: Final = b"TVGHCDMKNYSAABWR"
COMPLEMENTS: Final = np.frombuffer(
    bytes(range(256)).upper().translate(bytes.maketrans(_LETTERS, _COMPLEMENT)), dtype=np.uint8
)
"""uint8[256]: the IUPAC complement of each letter of either case, in upper case."""
_LOWER_A = np.uint8(ord("a"))
_ALPHABET = np.uint8(26)
_CASE_BIT = np.uint8(5)


class ReadText(NamedTuple):
    """Offsets and lengths of one read in a text.

    Attributes
    ----------
    name, bases, qualities
        Offsets.
    length
        The number of bases, and of qualities if there are any.
    """

    name: Integer
    name_length: Integer
    bases: Integer
    qualities: Integer
    length: Integer
    has_qualities: bool


@njit_inlined
def put_name(
    text: NDArray[np.uint8], read: ReadText, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write QNAME and a tab; an empty name is written as a star."""
    if read.name_length == 0:
        out[at] = STAR
        at += 1
    copy_bytes(text, read.name, out, at, read.name_length)
    at += read.name_length
    out[at] = TAB
    return at + 1


@njit_inlined
def _put_bases(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    to, length = np.uint64(at), np.uint64(read.length)
    if strand:
        last = np.uint64(read.bases + read.length - 1)
        for k in range(length):
            out[to + k] = COMPLEMENTS[text[last - k]]
    else:
        first = np.uint64(read.bases)
        for k in range(length):
            letter = text[first + k]
            is_lower = np.uint8(letter - _LOWER_A) < _ALPHABET
            out[to + k] = letter ^ (np.uint8(is_lower) << _CASE_BIT)
    return at + read.length


@njit_inlined
def _put_qualities(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    if not read.has_qualities:
        out[at] = STAR
        return at + 1
    if strand:
        to, last = np.uint64(at), np.uint64(read.qualities + read.length - 1)
        for k in range(np.uint64(read.length)):
            out[to + k] = text[last - k]
    else:
        copy_bytes(text, read.qualities, out, at, read.length)
    return at + read.length


@njit_inlined
def put_no_sequence(out: NDArray[np.uint8], at: Integer) -> Integer:
    """Write stars for SEQ and QUAL."""
    return put_text(out, at, _NO_BASES)


@njit_inlined
def put_sequence(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write SEQ, a tab and QUAL."""
    if read.length == 0:
        return put_no_sequence(out, at)
    at = _put_bases(text, read, strand, out, at)
    out[at] = TAB
    return _put_qualities(text, read, strand, out, at + 1)


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
    """An unpacked hit; see `hapgpu.shortread.search.hits`."""

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
