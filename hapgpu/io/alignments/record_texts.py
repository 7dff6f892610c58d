"""Conversion of BAM records to text of FASTQ and FASTA, as `samtools fastq -n` does.

A read is written as it was sequenced: a record on the reverse strand is reverse-complemented. A
record without qualities becomes FASTA; one without bases may be in either. Qualities above 93,
which have no letter, are written as 93.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_u16
from hapgpu.arrays.memory import (
    copy_at,
    load_i32_at,
    load_u8_at,
    load_u16_at,
    store_8_at,
    store_16_at,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.alignments.sam_records import put_tags
from hapgpu.io.bam.constants import FIXED_BYTES, MISSING_QUALITY, NUCLEOTIDES
from hapgpu.io.bam.decode import BASE_PAIRS, unpack_bases
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import field_bytes, name_number
from hapgpu.runtime.jit import njit, njit_inlined

EXCLUDED, FASTQ, FASTA, EITHER = range(4)
"""What becomes of a record; secondary and supplementary ones are excluded."""
SOUND, TOO_LONG, BAD_NAME, BAD_TAG = range(4)
"""Faults of a record."""

_SECONDARY_OR_SUPPLEMENTARY: Final = 0x900
_REVERSE: Final = 0x10
_NEWLINE, _AT, _PLUS, _GREATER = b"\n@+>"
_FASTQ_MARKS: Final = len(b"@\n\n+\n\n")
_FIRST_QUALITY, _LAST_QUALITY = np.uint8(33), np.uint8(93)

MAX_TEXT_PER_BYTE: Final = 5
"""Maximum of the characters for a byte of tags, as `put_tags` needs them."""

_OF_ALIGNMENTS: Final = "NM MD AS SA CG cs cg ds tp cm s1 s2 de rl ms nn zd"
_DROPPED: Final = np.array([*map(name_number, _OF_ALIGNMENTS.split())], dtype=np.int64)
_FIRST_PRINTABLE = np.uint8(ord(" "))


def _reverse_pairs() -> NDArray[np.uint16]:
    """Return the two letters of each byte of packed bases, complemented and in reverse order."""
    letters = np.frombuffer(NUCLEOTIDES, dtype=np.uint8).astype(np.uint16)
    reversed_bits = [int(f"{code:04b}"[::-1], 2) for code in range(16)]  # a bit for A, C, G and T
    complements = letters[reversed_bits]
    return read_only((complements[:, None] << np.uint16(8) | complements[None, :]).ravel())


_REVERSE_PAIRS: Final = _reverse_pairs()


class TextPart(NamedTuple):
    """What to write of a series of records.

    Attributes
    ----------
    start, end
        Rows of the records, half-open.
    form
        `FASTQ` or `FASTA`.
    with_comments
        Whether tags follow the names, as lines of SAM have them.
    max_bytes
        Bytes of the longest text of a read.
    """

    start: int
    end: int
    form: int
    with_comments: bool
    max_bytes: int


@njit
def measure_texts(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    with_comments: bool,  # noqa: FBT001  (compiled)
    kinds: NDArray[np.uint8],
    sizes: NDArray[np.int64],
) -> None:
    """Find what becomes of n records, and the maximum size of their text.

    Parameters
    ----------
    data, layout
        The records.
    with_comments
        Whether tags are written.
    kinds
        uint8[n]: receives `EXCLUDED`, `FASTQ`, `FASTA` or `EITHER`.
    sizes
        int64[n]: receives the maximum of bytes; 0 for excluded records.
    """
    base = data.ctypes.data
    for row in range(kinds.size):
        length = np.int64(layout.base_counts[row])
        tags = layout.tag_starts[row]
        if load_u16_at(base + layout.starts[row] + 18) & _SECONDARY_OR_SUPPLEMENTARY:
            kinds[row] = EXCLUDED
        elif length == 0:
            kinds[row] = EITHER
        else:
            is_missing = load_u8_at(base + tags - length) == MISSING_QUALITY
            kinds[row] = FASTA if is_missing else FASTQ
        size = _FASTQ_MARKS + np.int64(layout.name_lengths[row]) + 2 * length
        if with_comments:
            size += MAX_TEXT_PER_BYTE * np.int64(layout.tag_lengths[row])
        sizes[row] = 0 if kinds[row] == EXCLUDED else size


@njit
def cut_texts(
    kinds: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    max_bytes: Integer,
    forms: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> Integer:
    """Divide n records into blocks of one format.

    Parameters
    ----------
    kinds, sizes
        From `measure_texts`.
    max_bytes
        Maximum size of a block that has more than one read.
    forms
        uint8[n]: receives `FASTQ` or `FASTA` for each block.
    ends
        int64[n]: receives the end of the rows of each block; excluded rows may be among them.

    Returns
    -------
    int
        The number of blocks.
    """
    count: Integer = 0
    reads = 0
    size = np.int64(0)
    form = np.uint8(EITHER)
    for row in range(kinds.size):
        kind = kinds[row]
        if kind == EXCLUDED:
            continue
        differs = kind != form and kind != EITHER and form != EITHER  # noqa: PLR1714  (compiled)
        if reads and (differs or size + sizes[row] > max_bytes):
            ends[count] = row
            forms[count] = FASTA if form == FASTA else FASTQ
            count += 1
            reads, size, form = 0, np.int64(0), np.uint8(EITHER)
        reads += 1
        size += sizes[row]
        if kind != EITHER:
            form = kind
    if reads:
        ends[count] = kinds.size
        forms[count] = FASTA if form == FASTA else FASTQ
        count += 1
    return count


@njit
def write_texts(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    kinds: NDArray[np.uint8],
    part: TextPart,
    out: NDArray[np.uint8],
) -> tuple[Integer, Integer, Integer, Integer]:
    """Write the text of the records of a block.

    Parameters
    ----------
    data, layout, kinds
        The records, and what becomes of each.
    part
        What to write.
    out
        uint8: receives the text; it has room for the maximum size.

    Returns
    -------
    tuple of int
        The bytes of the text, the number of reads, the end of the sound rows, and the fault of the
        next row.
    """
    base, to = data.ctypes.data, out.ctypes.data
    at: Integer = np.int64(0)
    reads = 0
    for row in range(part.start, part.end):
        if kinds[row] == EXCLUDED:
            continue
        record = base + layout.starts[row]
        name_length = np.int64(layout.name_lengths[row])
        length = np.int64(layout.base_counts[row])
        tags = layout.tag_starts[row]
        is_reverse = load_u16_at(record + 18) & _REVERSE != 0
        start = at
        out[at] = _AT if part.form == FASTQ else _GREATER
        at += 1
        copy_at(to + at, record + FIXED_BYTES, name_length)
        if not _are_printable(out, at, name_length):
            return start, reads, row, BAD_NAME
        at += name_length
        if part.with_comments:
            at = put_comment(data, tags, layout.starts[row] + 4 + load_i32_at(record), out, at)
            if at < 0:
                return start, reads, row, BAD_TAG
        out[at] = _NEWLINE
        at += 1
        packed = base + tags - length - (length + 1) // 2
        _put_bases(packed, to + at, length, is_reverse)
        at += length
        out[at] = _NEWLINE
        at += 1
        if part.form == FASTQ:
            out[at] = _PLUS
            out[at + 1] = _NEWLINE
            at += 2
            _put_qualities(data, tags - length, out, at, length, is_reverse)
            at += length
            out[at] = _NEWLINE
            at += 1
        if at - start > part.max_bytes:
            return start, reads, row, TOO_LONG
        reads += 1
    return at, reads, part.end, SOUND


@njit
def _are_printable(text: NDArray[np.uint8], start: Integer, length: Integer) -> bool:
    """Tell whether no byte is a blank or a control character, which would end a name."""
    first = np.uint64(start)
    are_printable = True
    for k in range(np.uint64(length)):
        are_printable &= bool(np.uint8(text[first + k] - np.uint8(33)) < np.uint8(94))
    return are_printable


@njit_inlined
def _put_bases(source: Integer, target: Integer, length: Integer, is_reverse: bool) -> None:  # noqa: FBT001  (compiled)
    """Write packed bases at an address as letters."""
    if not is_reverse:
        unpack_bases(source, target, length, BASE_PAIRS.ctypes.data)
        return
    pairs = _REVERSE_PAIRS.ctypes.data
    half = length // 2
    if length % 2:
        store_8_at(target, load_u8_at(pairs + 2 * load_u8_at(source + half) + 1))
        target += 1
    for k in range(half):
        store_16_at(target + 2 * k, load_u16_at(pairs + 2 * load_u8_at(source + half - 1 - k)))


@njit
def _put_qualities(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    length: Integer,
    is_reverse: bool,  # noqa: FBT001  (compiled)
) -> None:
    to = np.uint64(target)
    if is_reverse:
        last = np.uint64(source + length - 1)
        for k in range(np.uint64(length)):
            out[to + k] = _letter(data[last - k])
    else:
        first = np.uint64(source)
        for k in range(np.uint64(length)):
            out[to + k] = _letter(data[first + k])


@njit_inlined
def _letter(quality: np.uint8) -> np.uint8:
    return np.uint8(min(quality, _LAST_QUALITY) + _FIRST_QUALITY)


@njit
def put_comment(
    data: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write the tags of a record as SAM text, each after a tab.

    Tags that describe an alignment, and that a new alignment has too, are left out.

    Parameters
    ----------
    data
        uint8: the record.
    start, end
        The range of its tags, which are well-formed.
    out, to
        uint8, with room for the maximum size, and the offset to write to.

    Returns
    -------
    int
        The end of the text; -1 if a tag has a control character, which would end the comment.
    """
    at = start
    while at < end:
        size = field_bytes(data, at, end)
        if not _is_dropped(load_u16(data, at)):
            first = to + 1  # after the tab
            to = put_tags(data, at, at + size, out, to)
            if _has_control_character(out, first, to):
                return -1
        at += size
    return to


@njit
def _is_dropped(name: Integer) -> bool:
    found = False
    for k in range(_DROPPED.size):
        found |= bool(_DROPPED[k] == name)
    return found


@njit
def _has_control_character(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    first = np.uint64(start)
    found = False
    for k in range(np.uint64(end - start)):
        found |= bool(text[first + k] < _FIRST_PRINTABLE)
    return found
