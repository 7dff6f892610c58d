"""SAM fields: QNAME, SEQ and QUAL of a read; RNAME, POS, CIGAR, NM, MD and AS of a hit.

See `hapgpu.io.text.builder` for the arguments `text` and `at`, and for what is returned.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8, write_8
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.io.text.builder import (
    has_room,
    put_all,
    put_byte,
    put_bytes,
    put_count,
    put_head,
    put_two,
    put_word,
    tag_head,
)
from hapgpu.io.text.fields import STAR, TAB, text_of
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
def put_name(text: Memory, at: Integer, reads: Memory, read: ReadText) -> Integer:
    """Write QNAME and a tab; an empty name is written as a star."""
    if read.name_length == 0:
        at = put_byte(text, at, STAR)
    return put_byte(text, put_bytes(text, at, reads, read.name, read.name_length), TAB)


@njit_inlined
def _put_bases(
    text: Memory, at: Integer, reads: Memory, read: ReadText, strand: Integer
) -> Integer:
    end = at + read.length
    if not has_room(text, end):
        return end
    if strand:
        last = read.bases + read.length - 1
        for k in range(read.length):
            write_8(text, at + k, np.int64(COMPLEMENTS[read_u8(reads, last - k)]))
    else:
        for k in range(read.length):
            letter = np.uint8(read_u8(reads, read.bases + k))
            is_lower = np.uint8(letter - _LOWER_A) < _ALPHABET
            write_8(text, at + k, np.int64(letter ^ (np.uint8(is_lower) << _CASE_BIT)))
    return end


@njit_inlined
def _put_qualities(
    text: Memory, at: Integer, reads: Memory, read: ReadText, strand: Integer
) -> Integer:
    if not read.has_qualities:
        return put_byte(text, at, STAR)
    if not strand:
        return put_bytes(text, at, reads, read.qualities, read.length)
    end = at + read.length
    if has_room(text, end):
        last = read.qualities + read.length - 1
        for k in range(read.length):
            write_8(text, at + k, read_u8(reads, last - k))
    return end


@njit_inlined
def put_no_sequence(text: Memory, at: Integer) -> Integer:
    """Write stars for SEQ and QUAL."""
    return put_all(text, at, memory_of(_NO_BASES))


@njit_inlined
def put_sequence(
    text: Memory, at: Integer, reads: Memory, read: ReadText, strand: Integer
) -> Integer:
    """Write SEQ, a tab and QUAL."""
    if read.length == 0:
        return put_no_sequence(text, at)
    at = put_byte(text, _put_bases(text, at, reads, read, strand), TAB)
    return _put_qualities(text, at, reads, read, strand)


_M, _I, _D = b"MID"
_ONE: Final = ord("1")
_CARET: Final = ord("^")
_N: Final = ord("N")
_BASES: Final = text_of("ACGT")
_NM: Final = tag_head("NM", "i")
_MD: Final = tag_head("MD", "Z")
_PERFECT: Final = np.int64(int.from_bytes(b"\tAS:i:0", "little"))
_MISMATCH: Final = np.int64(int.from_bytes(b"\tAS:i:-6", "little"))  # as Bowtie 2 end to end
_GAP: Final = np.int64(int.from_bytes(b"\tAS:i:-8", "little"))
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
    text: Memory,
    at: Integer,
    contig_offsets: NDArray[np.int64],
    names: Memory,
    name_offsets: NDArray[np.int64],
    start: Integer,
) -> Integer:
    """Write RNAME, a tab and POS of position `start` of the reference.

    `contig_offsets` and `name_offsets`, int64[c + 1], are of the contigs and of their `names`.
    """
    contig = last_at_most(contig_offsets, contig_offsets.size - 1, start)
    length = name_offsets[contig + 1] - name_offsets[contig]
    at = put_bytes(text, at, names, name_offsets[contig], length)
    return put_count(text, put_byte(text, at, TAB), start - contig_offsets[contig] + 1)


@njit_inlined
def put_cigar(text: Memory, at: Integer, placement: HitPlacement, length: Integer) -> Integer:
    """Write the CIGAR of a read of `length` bases."""
    before: Integer = np.int64(0)
    after: Integer = np.int64(length)
    if placement.kind != UNGAPPED:
        is_insertion = placement.kind == INSERTION
        before = placement.error
        after -= before + np.int64(is_insertion)
        if before > 0:
            at = put_byte(text, put_count(text, at, before), _M)
        at = put_two(text, at, _ONE, _I if is_insertion else _D)
    if after > 0:
        at = put_byte(text, put_count(text, at, after), _M)
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
    text: Memory, at: Integer, placement: HitPlacement, length: Integer, letter: Integer
) -> Integer:
    """Write the tags NM, MD and AS of a read of `length` bases.

    `letter` is the reference letter at the error; an insertion has none.
    """
    at = put_count(text, put_head(text, at, _NM), placement.distance)
    at = put_head(text, at, _MD)
    matched: Integer = np.int64(length)  # after the error, if there is one
    score = _PERFECT
    if placement.distance > 0:
        score = _GAP
        if placement.kind == INSERTION:
            matched -= 1
        else:
            at = put_count(text, at, placement.error)
            matched -= placement.error
            if placement.kind == DELETION:
                at = put_two(text, at, _CARET, letter)
            else:
                at = put_byte(text, at, letter)
                matched -= 1
                score = _MISMATCH
    at = put_count(text, at, matched)
    return put_word(text, at, score, np.int64(7 if score == _PERFECT else 8))
