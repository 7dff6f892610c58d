"""Conversion of BAM records to text of FASTQ and FASTA, as `samtools fastq -n` does.

A read is written as it was sequenced: a record on the reverse strand is reverse-complemented. A
record without qualities becomes FASTA; one without bases may be in either. Qualities above 93,
which have no letter, are written as 93.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_i32,
    read_u8,
    read_u16,
    write_8,
    write_16,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.alignments.sam_records import put_tags
from hapgpu.io.bam.constants import FIXED_BYTES, MISSING_QUALITY, NUCLEOTIDES
from hapgpu.io.bam.decode import BASE_PAIRS, unpack_bases
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import field_bytes_in, name_number
from hapgpu.io.text.builder import has_room, put_all, put_byte, put_two
from hapgpu.runtime.jit import njit, njit_inlined

EXCLUDED, FASTQ, FASTA, EITHER = range(4)
"""Kinds of records by their text; secondary and supplementary records are excluded."""
SOUND, TOO_LONG, BAD_NAME, BAD_TAG = range(4)
"""Faults of a record."""

_SECONDARY_OR_SUPPLEMENTARY: Final = 0x900
_REVERSE: Final = 0x10
_NEWLINE, _AT, _PLUS, _GREATER = b"\n@+>"
_FASTQ_MARKS: Final = len(b"@\n\n+\n\n")
_FIRST_QUALITY, _LAST_QUALITY = np.int64(33), np.int64(93)
_BLANK, _FIRST_LETTER, _LAST_LETTER = (np.int64(byte) for byte in b" !~")
_NO_COMMENT: Final = np.int64(-1)

_MAX_TEXT_PER_TAG_BYTE: Final = 5
"""Maximum of the characters for a byte of tags."""

_OF_ALIGNMENTS: Final = "NM MD AS SA CG cs cg ds tp cm s1 s2 de rl ms nn zd"
_DROPPED: Final = np.array([*map(name_number, _OF_ALIGNMENTS.split())], dtype=np.int64)


def _reverse_pairs() -> NDArray[np.uint16]:
    """Return the two letters of each byte of packed bases, complemented and in reverse order."""
    letters = np.frombuffer(NUCLEOTIDES, dtype=np.uint8).astype(np.uint16)
    reversed_bits = [int(f"{code:04b}"[::-1], 2) for code in range(16)]  # a bit for A, C, G and T
    complements = letters[reversed_bits]
    return read_only((complements[:, None] << np.uint16(8) | complements[None, :]).ravel())


_REVERSE_PAIRS: Final = _reverse_pairs()


class TextPart(NamedTuple):
    """Part of a series of records, and the form of its text.

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
    """Find the kinds of n records, and the expected sizes of their texts.

    Parameters
    ----------
    data, layout
        uint8, and offsets: the records.
    with_comments
        Whether tags are written.
    kinds
        uint8[n]: receives `EXCLUDED`, `FASTQ`, `FASTA` or `EITHER`.
    sizes
        int64[n]: receives the bytes, a few more with tags; 0 for excluded records.
    """
    memory = memory_of(data)
    for row in range(kinds.size):
        length = np.int64(layout.base_counts[row])
        tags = layout.tag_starts[row]
        if read_u16(memory, layout.starts[row] + 18) & _SECONDARY_OR_SUPPLEMENTARY:
            kinds[row] = EXCLUDED
        elif length == 0:
            kinds[row] = EITHER
        else:
            is_missing = read_u8(memory, tags - length) == MISSING_QUALITY
            kinds[row] = FASTA if is_missing else FASTQ
        size = _FASTQ_MARKS + np.int64(layout.name_lengths[row]) + 2 * length
        if with_comments:
            size += _MAX_TEXT_PER_TAG_BYTE * np.int64(layout.tag_lengths[row])
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
        uint8[n] and int64[n], from `measure_texts`.
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
    data, layout
        uint8, and offsets: the records.
    kinds
        uint8[n]: what becomes of each, from `measure_texts`.
    part
        What to write.
    out
        uint8: receives the text; see `hapgpu.io.text.builder`.

    Returns
    -------
    tuple of int
        The end of the text, the number of reads, the end of the sound rows, and the fault of the
        next row.
    """
    memory, text = memory_of(data), memory_of(out)
    at: Integer = np.int64(0)
    reads = 0
    for row in range(part.start, part.end):
        if kinds[row] == EXCLUDED:
            continue
        record_at = layout.starts[row]
        record = part_of(memory, record_at, 4 + read_i32(memory, record_at))
        tags_at = layout.tag_starts[row] - record_at
        length = np.int64(layout.base_counts[row])
        is_reverse = read_u16(record, 18) & _REVERSE != 0
        start = at
        name = part_of(record, FIXED_BYTES, np.int64(layout.name_lengths[row]))
        if not _are_printable(name):
            return start, reads, row, BAD_NAME
        at = put_all(text, put_byte(text, at, _AT if part.form == FASTQ else _GREATER), name)
        if part.with_comments:
            at = _put_comment(text, at, part_of(record, tags_at, record.size - tags_at))
            if at == _NO_COMMENT:
                return start, reads, row, BAD_TAG
        at = put_byte(text, at, _NEWLINE)
        packed_bytes = (length + 1) // 2
        packed = part_of(record, tags_at - length - packed_bytes, packed_bytes)
        at = put_byte(text, _put_bases(text, at, packed, length, is_reverse), _NEWLINE)
        if part.form == FASTQ:
            at = put_two(text, at, _PLUS, _NEWLINE)
            qualities = part_of(record, tags_at - length, length)
            at = put_byte(text, _put_qualities(text, at, qualities, is_reverse), _NEWLINE)
        if at - start > part.max_bytes:
            return start, reads, row, TOO_LONG
        reads += 1
    return at, reads, part.end, SOUND


@njit_inlined
def _are_printable(name: Memory) -> bool:
    """Tell whether no byte is a blank or a control character, which would end a name."""
    are_printable = True
    for k in range(name.size):
        are_printable &= bool(_FIRST_LETTER <= read_u8(name, k) <= _LAST_LETTER)
    return are_printable


@njit_inlined
def _put_bases(
    text: Memory,
    at: Integer,
    packed: Memory,
    length: Integer,
    is_reverse: bool,  # noqa: FBT001  (compiled)
) -> Integer:
    """Write packed bases as letters."""
    end = at + length
    if not has_room(text, end):
        return end
    letters = part_of(text, at, length)
    if not is_reverse:
        unpack_bases(packed, letters, memory_of(BASE_PAIRS))
        return end
    pairs = memory_of(_REVERSE_PAIRS)
    half, first = length // 2, length % 2
    if first:
        write_8(letters, 0, read_u8(pairs, 2 * read_u8(packed, half) + 1))
    for k in range(half):
        write_16(letters, first + 2 * k, read_u16(pairs, 2 * read_u8(packed, half - 1 - k)))
    return end


@njit_inlined
def _put_qualities(
    text: Memory,
    at: Integer,
    qualities: Memory,
    is_reverse: bool,  # noqa: FBT001  (compiled)
) -> Integer:
    end = at + qualities.size
    if not has_room(text, end):
        return end
    if is_reverse:
        for k in range(qualities.size):
            write_8(text, at + k, _letter(read_u8(qualities, qualities.size - 1 - k)))
    else:
        for k in range(qualities.size):
            write_8(text, at + k, _letter(read_u8(qualities, k)))
    return end


@njit_inlined
def _letter(quality: Integer) -> Integer:
    return min(quality, _LAST_QUALITY) + _FIRST_QUALITY


@njit
def _put_comment(text: Memory, at: Integer, tags: Memory) -> Integer:
    """Write well-formed tags as SAM text, each after a tab.

    Tags that describe an alignment, and that a new alignment has too, are left out.

    Returns
    -------
    int
        The end; `_NO_COMMENT` if a tag has a control character, which would end the comment. It is
        found only if there is room for the tag.
    """
    here: Integer = np.int64(0)
    while here < tags.size:
        size = field_bytes_in(tags, here, tags.size)
        if not _is_dropped(read_u16(tags, here)):
            first = at + 1  # after the tab
            at = put_tags(text, at, part_of(tags, here, size))
            if has_room(text, at) and _has_control_character(part_of(text, first, at - first)):
                return _NO_COMMENT
        here += size
    return at


@njit
def _is_dropped(name: Integer) -> bool:
    found = False
    for k in range(_DROPPED.size):
        found |= bool(_DROPPED[k] == name)
    return found


@njit_inlined
def _has_control_character(text: Memory) -> bool:
    found = False
    for k in range(text.size):
        found |= bool(read_u8(text, k) < _BLANK)
    return found
