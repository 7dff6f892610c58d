"""Conversion of lines of SAM to BAM records, as htslib does."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_64,
    read_u8,
    read_u16,
    write_8,
    write_32,
    write_64,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LONG_CIGAR_TAG,
    MAX_CIGAR_OPERATIONS,
    MAX_NAME_BYTES,
    MAX_OPERATION_BASES,
    MISSING_QUALITY,
    NUCLEOTIDES,
    QUERY_OPERATIONS,
    REFERENCE_OPERATIONS,
    SKIP,
    SOFT_CLIP,
    UNMAPPED,
)
from hapgpu.io.bam.encode import bin_of
from hapgpu.io.bam.tag_texts import encode_tags
from hapgpu.io.text.builder import has_room, put_byte, put_bytes, put_word
from hapgpu.io.text.name_table import NameTable, find_name
from hapgpu.io.text.parsing import MALFORMED, after_tab, control_from, read_count, read_integer
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _STAR, _EQUALS, _ZERO = b"\t\n*=0"
_OPERATIONS: Final = b"MIDNSHP=X"
_NO_OPERATION: Final = np.int64(255)
_MAX_BASES: Final = np.int64(MAX_OPERATION_BASES)
_MAX_FLAG: Final = np.int64(2**16 - 1)
_MAX_QUALITY: Final = np.int64(2**8 - 1)
_MAX_POSITION: Final = np.int64(2**31)
_LOWEST_LENGTH, _HIGHEST_LENGTH = np.int64(-(2**31)), np.int64(2**31 - 1)
_0, _1 = np.int64(0), np.int64(1)
_NOWHERE: Final = np.int64(-1)
_ANY_BASE: Final = NUCLEOTIDES.index(b"N")
_CONTROL: Final = 0x10
_FIRST_QUALITY: Final = ord("!")
_FIRST_QUALITIES: Final = np.uint64(0x2121212121212121)
_SIGN_BITS: Final = np.uint64(0x8080808080808080)


def _base_codes() -> NDArray[np.uint8]:
    """Return uint8[256]: codes of letters as htslib has them; `_CONTROL` for control characters."""
    codes = np.full(256, _ANY_BASE, dtype=np.uint8)
    codes[: ord(" ")] = _CONTROL
    for code, letter in enumerate(NUCLEOTIDES):
        codes[[letter, ord(chr(letter).lower())]] = code
    codes[[*b"0123Uu"]] = codes[[*b"ACGTTT"]]
    return read_only(codes)


def _operation_codes() -> NDArray[np.uint8]:
    codes = np.full(256, _NO_OPERATION, dtype=np.uint8)
    codes[[*_OPERATIONS]] = range(len(_OPERATIONS))
    return read_only(codes)


_BASE_CODES: Final = _base_codes()
_OPERATION_CODES: Final = _operation_codes()


class _Alignment(NamedTuple):
    """FLAG, row of the contig (-1 for none), position from 0, and mapping quality."""

    flag: Integer
    contig: Integer
    position: Integer
    quality: Integer


class _Mate(NamedTuple):
    """RNEXT as the row of a contig (-1 for none), PNEXT from 0, and TLEN."""

    contig: Integer
    position: Integer
    length: Integer


class _Cigar(NamedTuple):
    """Number of operations, and the bases of the read and of the contig that they consume."""

    operations: Integer
    bases: Integer
    span: Integer


@njit
def encode_lines(
    text: NDArray[np.uint8],
    contigs: NameTable,
    start: Integer,
    out: NDArray[np.uint8],
    to: Integer,
) -> tuple[Integer, Integer]:
    """Convert lines from an offset on, up to one of which htslib may make something else.

    Parameters
    ----------
    text
        uint8: lines of SAM without a header; the last byte is a newline.
    contigs
        Names of the contigs in the order of the header.
    start
        Offset of a line.
    out, to
        uint8: receives the records from the offset `to` on, as a text of `hapgpu.io.text.builder`.

    Returns
    -------
    tuple of int
        Offset of the first line that was not converted, and the end of the records in `out`.
    """
    lines, records = memory_of(text), memory_of(out)
    at: Integer = np.int64(start)
    record: Integer = np.int64(to)
    while at < lines.size:
        next_line, end = _encode_line(lines, at, contigs, records, record)
        if next_line == MALFORMED:
            break
        at, record = next_line, end
    return at, record


@njit
def _encode_line(
    text: Memory, at: Integer, contigs: NameTable, out: Memory, start: Integer
) -> tuple[Integer, Integer]:
    """Write the record of a line; return the offset of the next line, or `MALFORMED`, and its end.

    The fields of fixed size are written last.
    """
    at, cigar_to = _encode_name(text, at, out, start + FIXED_BYTES)
    name_bytes = cigar_to - start - FIXED_BYTES
    place, at = _read_alignment(text, at, contigs)
    cigar_text = at
    cigar, at = _encode_cigar(text, at, out, cigar_to)
    mate, at = _read_mate(text, at, contigs, place.contig)
    is_long = cigar.operations > MAX_CIGAR_OPERATIONS
    stored = np.int64(2) if is_long else cigar.operations
    end = cigar_to + 4 * stored
    bases, at = _encode_sequence(text, at, cigar, out, end)
    end += (bases + 1) // 2
    at = _encode_qualities(text, at, bases, out, end)
    at, end = encode_tags(text, at, out, end + bases)
    if at == MALFORMED or cigar.span > _MAX_BASES:
        return MALFORMED, start
    if is_long:
        end = put_word(out, end, LONG_CIGAR_TAG | cigar.operations << 32, 8)
        _encode_cigar(text, cigar_text, out, end)
        end += 4 * cigar.operations

    flag = place.flag if cigar.operations else place.flag | UNMAPPED
    covered = _0 if flag & UNMAPPED else cigar.span
    number = bin_of(place.position, place.position + max(covered, _1)) & 0xFFFF
    if has_room(out, end):
        record = part_of(out, start, end - start)
        write_32(record, 0, record.size - 4)
        write_32(record, 4, place.contig)
        write_32(record, 8, place.position)
        write_32(record, 12, name_bytes | place.quality << 8 | number << 16)
        write_32(record, 16, stored | flag << 16)
        write_32(record, 20, bases)
        write_32(record, 24, mate.contig)
        write_32(record, 28, mate.position)
        write_32(record, 32, mate.length)
        if is_long:
            write_32(out, cigar_to, bases << 4 | SOFT_CLIP)
            write_32(out, cigar_to + 4, cigar.span << 4 | SKIP)
    return at + 1, end


@njit_inlined
def _encode_name(text: Memory, at: Integer, out: Memory, to: Integer) -> tuple[Integer, Integer]:
    """Write a name and its NUL."""
    end = control_from(text, at)
    size = end - at
    if not 1 <= size <= MAX_NAME_BYTES:
        return text.size - 1, to
    to = put_byte(out, put_bytes(out, to, text, at, size), _0)
    return after_tab(text, end), to


@njit_inlined
def _read_contig(text: Memory, at: Integer, contigs: NameTable) -> tuple[Integer, Integer]:
    """Read the name of a contig; return its row, -1 for `*`."""
    end = control_from(text, at)
    if end == at + 1 and read_u8(text, at) == _STAR:
        return _NOWHERE, after_tab(text, end)
    row = find_name(contigs, part_of(text, at, end - at))
    return row, text.size - 1 if row < 0 else after_tab(text, end)


@njit_inlined
def _read_alignment(text: Memory, at: Integer, contigs: NameTable) -> tuple[_Alignment, Integer]:
    """Read FLAG to MAPQ. Without a contig, or a position on it, a read is unmapped."""
    last = text.size - 1
    # htslib reads other numbers that start with 0 as octal or hexadecimal.
    is_other = read_u8(text, at) == _ZERO and read_u8(text, at + np.int64(at < last)) != _TAB
    flag, at = read_count(text, at, _MAX_FLAG)
    at = last if is_other else after_tab(text, at)
    contig, at = _read_contig(text, at, contigs)
    position, at = read_count(text, at, _MAX_POSITION)
    quality, at = read_count(text, after_tab(text, at), _MAX_QUALITY)
    if position == 0:
        contig = _NOWHERE
    if contig < 0:
        flag |= UNMAPPED
    return _Alignment(flag, contig, position - 1, quality), after_tab(text, at)


@njit
def _encode_cigar(text: Memory, at: Integer, out: Memory, to: Integer) -> tuple[_Cigar, Integer]:
    """Write the operations of a CIGAR, none for `*`."""
    operations, bases, span = _0, _0, _0
    last = text.size - 1
    if read_u8(text, at) == _STAR:
        return _Cigar(operations, bases, span), after_tab(text, at + 1)
    while at != MALFORMED and read_u8(text, at) != _TAB:
        length, at = read_count(text, at, _MAX_BASES)
        code = _NO_OPERATION
        if at != MALFORMED:
            code = np.int64(_OPERATION_CODES[read_u8(text, at)])
            at += 1
        if code == _NO_OPERATION:
            return _Cigar(operations, bases, span), last
        to = put_word(out, to, length << 4 | code, 4)
        operations += 1
        bases += length * (QUERY_OPERATIONS >> code & 1)
        span += length * (REFERENCE_OPERATIONS >> code & 1)
    return _Cigar(operations, bases, span), last if operations == 0 else after_tab(text, at)


@njit_inlined
def _read_mate(
    text: Memory, at: Integer, contigs: NameTable, contig: Integer
) -> tuple[_Mate, Integer]:
    """Read RNEXT, PNEXT and TLEN."""
    mate_contig = contig
    if read_u8(text, at) == _EQUALS:
        at = after_tab(text, at + 1)
    else:
        mate_contig, at = _read_contig(text, at, contigs)
    position, at = read_count(text, at, _MAX_POSITION)
    length, at = read_integer(text, after_tab(text, at), _LOWEST_LENGTH, _HIGHEST_LENGTH)
    if position == 0:
        mate_contig = _NOWHERE
    return _Mate(mate_contig, position - 1, length), after_tab(text, at)


@njit
def _encode_sequence(
    text: Memory, at: Integer, cigar: _Cigar, out: Memory, to: Integer
) -> tuple[Integer, Integer]:
    """Write SEQ; return the number of bases, and the offset after the tab."""
    last = text.size - 1
    if read_u8(text, at) == _STAR and read_u8(text, at + 1) == _TAB:
        return _0, at + 2
    length = cigar.bases if cigar.operations else control_from(text, at) - at
    if length == 0 or at + length >= last or read_u8(text, at + length) != _TAB:
        return _0, last
    is_sequence = _pack_bases(part_of(text, at, length), out, to)
    return (length, at + length + 1) if is_sequence else (_0, last)


@njit
def _encode_qualities(
    text: Memory, at: Integer, length: Integer, out: Memory, to: Integer
) -> Integer:
    """Write QUAL; return the offset after it, or `MALFORMED`."""
    if read_u8(text, at) == _STAR and read_u8(text, at + 1) <= _NEWLINE:
        _fill(out, to, length)
        return at + 1
    if length == 0 or at + length >= text.size:
        return MALFORMED
    are_sound = _copy_qualities(part_of(text, at, length), out, to)
    return at + length if are_sound else MALFORMED


@njit
def _pack_bases(letters: Memory, out: Memory, to: Integer) -> bool:
    """Write four bits per base; tell whether no byte is a control character, if there is room."""
    codes = memory_of(_BASE_CODES)
    half = letters.size // 2
    if not has_room(out, to + half + letters.size % 2):
        return True
    seen = _0
    for k in range(half):
        two = read_u16(letters, 2 * k)
        high, low = read_u8(codes, two & 255), read_u8(codes, two >> 8)
        seen |= high | low
        write_8(out, to + k, high << 4 | low)
    if letters.size % 2:
        code = read_u8(codes, read_u8(letters, 2 * half))
        seen |= code
        write_8(out, to + half, code << 4)
    return bool(seen < _CONTROL)


@njit
def _fill(out: Memory, to: Integer, length: Integer) -> None:
    """Write that there are no qualities."""
    if has_room(out, to + length):
        for k in range(length):
            write_8(out, to + k, MISSING_QUALITY)


@njit
def _copy_qualities(letters: Memory, out: Memory, to: Integer) -> bool:
    """Write qualities as numbers; tell whether all are from 0 to 127, if there is room."""
    if not has_room(out, to + letters.size):
        return True
    seen = np.uint64(0)
    words = letters.size // 8
    for k in range(words):
        # No byte is too small, or the sign bit of the lowest such byte gets set.
        word = np.uint64(read_64(letters, 8 * k)) - _FIRST_QUALITIES
        seen |= word
        write_64(out, to + 8 * k, np.int64(word))
    rest = _0
    for k in range(8 * words, letters.size):
        number = read_u8(letters, k) - _FIRST_QUALITY
        rest |= number & 128
        write_8(out, to + k, number)
    return bool(seen & _SIGN_BITS == 0 and rest == 0)
