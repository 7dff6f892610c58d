"""Qualities of indels that reads carry in their tags, as base recalibration wrote them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.byte_access import Integer, load_i32, load_u16
from hapgpu.io.record_layout import VALUE_WIDTHS
from hapgpu.jit import njit
from hapgpu.rows import Rows, rows_of

_TEXT, _HEX, _ARRAY = b"ZHB"
_FIRST_QUALITY: Final = 33
_LAST_QUALITY: Final = 126
_HEAD: Final = 3  # bytes of a field before its value: two of the name, one of the type


def tag_qualities(reads: ReadBatch, name: str, flat: int, source: str) -> NDArray[np.uint8]:
    """Return a quality per base: from a tag with text as in FASTQ, or `flat` for reads without it.

    Parameters
    ----------
    reads
        Reads with well-formed tags.
    name
        The tag: `BI` of insertions, `BD` of deletions.
    flat
        Phred.
    source
        Name of the input, for errors.

    Returns
    -------
    uint8[reads.bases.data.size], Phred.

    Raises
    ------
    InputError
        A tag does not hold one quality per base.
    """
    qualities = np.full(reads.bases.data.size, flat, dtype=np.uint8)
    first, second = name.encode("ascii")
    fault = _read_tags(rows_of(reads.tags), first | second << 8, reads.bases.offsets, qualities)
    if fault >= 0:
        read = reads.names[fault].tobytes().decode("ascii", errors="replace")
        bases = int(reads.bases.lengths[fault])
        raise InputError(
            f"{source}: tag {name} of read '{read}' does not hold {bases} qualities as FASTQ does,"
            f" one per base; remove the tag (samtools view -x {name}) or the read"
        )
    return qualities


@njit
def _read_tags(
    tags: Rows, name: int, offsets: NDArray[np.int64], qualities: NDArray[np.uint8]
) -> int:
    """Fill the rows of reads that have the tag; return the first row where that fails, or -1."""
    for row in range(offsets.size - 1):
        at = _find(tags.data, tags.offsets[row], tags.offsets[row + 1], name)
        if at < 0:
            continue
        begin, length = offsets[row], offsets[row + 1] - offsets[row]
        if tags.data[at + 2] != _TEXT or _field_bytes(tags.data, at) != _HEAD + length + 1:
            return row
        for k in range(length):
            letter = tags.data[at + _HEAD + k]
            if letter < _FIRST_QUALITY or letter > _LAST_QUALITY:
                return row
            qualities[begin + k] = letter - _FIRST_QUALITY
    return -1


@njit
def _find(data: NDArray[np.uint8], begin: Integer, end: Integer, name: int) -> Integer:
    """Return where the first field of a name begins, or -1."""
    at = begin
    while at < end:
        if load_u16(data, at) == name:
            return at
        at += _field_bytes(data, at)
    return -1


@njit
def _field_bytes(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Return the size of a well-formed field."""
    kind = data[at + 2]
    if kind in (_TEXT, _HEX):
        size = _HEAD
        while data[at + size]:
            size += 1
        return size + 1
    if kind == _ARRAY:
        return 8 + np.int64(VALUE_WIDTHS[data[at + _HEAD]]) * load_i32(data, at + 4)
    return _HEAD + np.int64(VALUE_WIDTHS[kind])
