"""Conversion of lines of SAM to BAM records, as htslib does."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import load_u64
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    copy_at,
    load_u8_at,
    load_u16_at,
    store_8_at,
    store_32_at,
    store_64_at,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LONG_CIGAR_TAG,
    MAX_CIGAR_OPERATIONS,
    MAX_NAME_BYTES,
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
from hapgpu.io.text.name_table import NameTable, find_name
from hapgpu.io.text.parsing import after_tab, control_from, read_count, read_integer
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _STAR, _EQUALS, _ZERO = b"\t\n*=0"
_OPERATIONS: Final = b"MIDNSHP=X"
_NO_OPERATION: Final = np.int64(255)
_MAX_OPERATION: Final = np.int64(2**28 - 1)
_MAX_SPAN: Final = np.int64(2**28 - 1)
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

_ROOM_PER_LINE: Final = 64
_ROOM_PER_BYTE: Final = 2


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


class _Cigar(NamedTuple):
    """Number of operations, and the bases of the read and of the contig that they consume."""

    operations: Integer
    bases: Integer
    span: Integer


def room_for_records(text: NDArray[np.uint8]) -> int:
    """Return the maximum of bytes that `encode_lines` writes for a text."""
    lines = int(np.count_nonzero(text == _NEWLINE))
    return _ROOM_PER_BYTE * text.size + _ROOM_PER_LINE * (lines + 1)


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
        uint8: receives the records from the offset `to` on; see `room_for_records`.

    Returns
    -------
    tuple of int
        Offset of the first line that was not converted, and the end of the records in `out`.
    """
    base = text.ctypes.data
    last = base + text.size - 1
    at: Integer = base + start
    record: Integer = out.ctypes.data + to
    while at <= last:
        next_line, end = _encode_line(at, last, contigs, record)
        if next_line == 0:
            break
        at, record = next_line, end
    return at - base, record - out.ctypes.data


@njit
def _encode_line(
    at: Integer, last: Integer, contigs: NameTable, record: Integer
) -> tuple[Integer, Integer]:
    """Write the record of a line; return the address of the next line, or 0, and its end."""
    at, out = _encode_name(at, last, record + FIXED_BYTES)
    name_bytes = out - record - FIXED_BYTES
    place, at = _read_alignment(at, last, contigs)
    cigar_text = at
    cigar, at = _encode_cigar(at, last, out)
    at = _encode_mate(at, last, contigs, place.contig, record)
    is_long = cigar.operations > MAX_CIGAR_OPERATIONS
    stored = np.int64(2) if is_long else cigar.operations
    end = out + 4 * stored
    bases, at = _encode_sequence(at, last, cigar, end)
    end += (bases + 1) // 2
    at = _encode_qualities(at, last, bases, end)
    at, end = encode_tags(at, last, end + bases)
    if at == 0 or cigar.span > _MAX_SPAN:
        return _0, record
    if is_long:
        store_32_at(out, bases << 4 | SOFT_CLIP)
        store_32_at(out + 4, cigar.span << 4 | SKIP)
        store_32_at(end, LONG_CIGAR_TAG)
        store_32_at(end + 4, cigar.operations)
        _encode_cigar(cigar_text, last, end + 8)
        end += 8 + 4 * cigar.operations

    flag = place.flag if cigar.operations else place.flag | UNMAPPED
    covered = _0 if flag & UNMAPPED else cigar.span
    number = bin_of(place.position, place.position + max(covered, _1)) & 0xFFFF
    store_32_at(record, end - record - 4)
    store_32_at(record + 4, place.contig)
    store_32_at(record + 8, place.position)
    store_32_at(record + 12, name_bytes | place.quality << 8 | number << 16)
    store_32_at(record + 16, stored | flag << 16)
    store_32_at(record + 20, bases)
    return at + 1, end


@njit_inlined
def _encode_name(at: Integer, last: Integer, out: Integer) -> tuple[Integer, Integer]:
    """Write a name and its NUL."""
    end = control_from(at, last)
    size = end - at
    if not 1 <= size <= MAX_NAME_BYTES:
        return last, out
    copy_at(out, at, size)
    store_8_at(out + size, _0)
    return after_tab(end, last), out + size + 1


@njit_inlined
def _read_contig(at: Integer, last: Integer, contigs: NameTable) -> tuple[Integer, Integer]:
    """Read the name of a contig; return its row, -1 for `*`."""
    end = control_from(at, last)
    if end == at + 1 and load_u8_at(at) == _STAR:
        return _NOWHERE, after_tab(end, last)
    row = find_name(contigs, at, end - at)
    return row, last if row < 0 else after_tab(end, last)


@njit_inlined
def _read_alignment(at: Integer, last: Integer, contigs: NameTable) -> tuple[_Alignment, Integer]:
    """Read FLAG to MAPQ. Without a contig, or a position on it, a read is unmapped."""
    # htslib reads other numbers that start with 0 as octal or hexadecimal.
    is_other = load_u8_at(at) == _ZERO and load_u8_at(at + np.int64(at < last)) != _TAB
    flag, at = read_count(at, _MAX_FLAG)
    at = last if is_other else after_tab(at, last)
    contig, at = _read_contig(at, last, contigs)
    position, at = read_count(at, _MAX_POSITION)
    quality, at = read_count(after_tab(at, last), _MAX_QUALITY)
    if position == 0:
        contig = _NOWHERE
    if contig < 0:
        flag |= UNMAPPED
    return _Alignment(flag, contig, position - 1, quality), after_tab(at, last)


@njit
def _encode_cigar(at: Integer, last: Integer, out: Integer) -> tuple[_Cigar, Integer]:
    """Write the operations of a CIGAR, none for `*`."""
    operations, bases, span = _0, _0, _0
    if load_u8_at(at) == _STAR:
        return _Cigar(operations, bases, span), after_tab(at + 1, last)
    while at != 0 and load_u8_at(at) != _TAB:
        length, at = read_count(at, _MAX_OPERATION)
        code = _NO_OPERATION
        if at != 0:
            code = np.int64(_OPERATION_CODES[load_u8_at(at)])
            at += 1
        if code == _NO_OPERATION:
            return _Cigar(operations, bases, span), last
        store_32_at(out + 4 * operations, length << 4 | code)
        operations += 1
        bases += length * (QUERY_OPERATIONS >> code & 1)
        span += length * (REFERENCE_OPERATIONS >> code & 1)
    return _Cigar(operations, bases, span), last if operations == 0 else after_tab(at, last)


@njit_inlined
def _encode_mate(
    at: Integer, last: Integer, contigs: NameTable, contig: Integer, record: Integer
) -> Integer:
    """Write RNEXT, PNEXT and TLEN."""
    mate_contig = contig
    if load_u8_at(at) == _EQUALS:
        at = after_tab(at + 1, last)
    else:
        mate_contig, at = _read_contig(at, last, contigs)
    position, at = read_count(at, _MAX_POSITION)
    length, at = read_integer(after_tab(at, last), _LOWEST_LENGTH, _HIGHEST_LENGTH)
    store_32_at(record + 24, _NOWHERE if position == 0 else mate_contig)
    store_32_at(record + 28, position - 1)
    store_32_at(record + 32, length)
    return after_tab(at, last)


@njit
def _encode_sequence(
    at: Integer, last: Integer, cigar: _Cigar, out: Integer
) -> tuple[Integer, Integer]:
    """Write SEQ; return the number of bases, and the address after the tab."""
    if load_u8_at(at) == _STAR and load_u8_at(at + 1) == _TAB:
        return _0, at + 2
    length = cigar.bases if cigar.operations else control_from(at, last) - at
    if length == 0 or at + length >= last or load_u8_at(at + length) != _TAB:
        return _0, last
    return (length, at + length + 1) if _pack_bases(at, length, out) else (_0, last)


@njit
def _encode_qualities(at: Integer, last: Integer, length: Integer, out: Integer) -> Integer:
    """Write QUAL; return the address after it, or 0."""
    if load_u8_at(at) == _STAR and load_u8_at(at + 1) <= _NEWLINE:
        _fill(out, length)
        return at + 1
    if length == 0 or at + length > last or not _copy_qualities(at, length, out):
        return _0
    return at + length


@njit
def _pack_bases(source: Integer, length: Integer, target: Integer) -> bool:
    """Write four bits per base; tell whether no byte is a control character."""
    codes = _BASE_CODES.ctypes.data
    seen = _0
    for k in range(length // 2):
        letters = load_u16_at(source + 2 * k)
        high, low = load_u8_at(codes + (letters & 255)), load_u8_at(codes + (letters >> 8))
        seen |= high | low
        store_8_at(target + k, high << 4 | low)
    if length % 2:
        code = load_u8_at(codes + load_u8_at(source + length - 1))
        seen |= code
        store_8_at(target + length // 2, code << 4)
    return bool(seen < _CONTROL)


@njit
def _fill(target: Integer, length: Integer) -> None:
    """Write that there are no qualities."""
    for k in range(length):
        store_8_at(target + k, MISSING_QUALITY)


@njit
def _copy_qualities(source: Integer, length: Integer, target: Integer) -> bool:
    """Write qualities as numbers; tell whether all are from 0 to 127."""
    seen = np.uint64(0)
    words = length // 8
    for k in range(words):
        # No byte is too small, or the sign bit of the lowest such byte gets set.
        word = load_u64(source + 8 * k) - _FIRST_QUALITIES
        seen |= word
        store_64_at(target + 8 * k, np.int64(word))
    rest = _0
    for k in range(8 * words, length):
        number = load_u8_at(source + k) - _FIRST_QUALITY
        rest |= number & 128
        store_8_at(target + k, number)
    return bool(seen & _SIGN_BITS == 0 and rest == 0)
