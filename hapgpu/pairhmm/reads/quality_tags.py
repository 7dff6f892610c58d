"""Indel qualities from the tags `BI` and `BD`, as base recalibration writes them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of, read_u16
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.errors import InputError
from hapgpu.io.bam.tags import (
    HEAD_BYTES,
    field_bytes,
    field_bytes_in,
    find_field,
    name_number,
)
from hapgpu.runtime.jit import njit

_TEXT: Final = ord("Z")
FIRST_QUALITY: Final = 33
"""Letter of the quality 0."""
_LAST_QUALITY: Final = 126
NO_TAG: Final = -1
INVALID_TAG: Final = -2
_TAGS: Final = ("BI", "BD")
_NUMBERS: Final = (name_number("BI"), name_number("BD"))


def tag_qualities(reads: ReadBatch, name: str, default: int, source: str) -> NDArray[np.uint8]:
    """Return a quality per base, from a tag with text as in FASTQ; `default` in reads without it.

    Parameters
    ----------
    reads
        Reads with well-formed tags.
    name
        The tag: `BI` of insertions, `BD` of deletions.
    default
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
    qualities = np.full(reads.bases.data.size, default, dtype=np.uint8)
    fault = _read_tags(view_of(reads.tags), name_number(name), reads.bases.offsets, qualities)
    if fault >= 0:
        read = reads.names[fault].tobytes().decode("ascii", errors="replace")
        bases = int(reads.bases.lengths[fault])
        raise InputError(
            f"{source}, read '{read}': tag {name} does not hold {bases} qualities as in FASTQ, one"
            f" per base; remove the tag (samtools view -x {name}) or the read"
        )
    return qualities


def quality_fields(reads: ReadBatch, source: str) -> NDArray[np.int64]:
    """Return int64[2, n]: where the tags `BI` and `BD` of reads are in the data of their tags.

    It is `NO_TAG` for a read without the tag.

    Parameters
    ----------
    reads
        n reads with well-formed tags.
    source
        Name of the input, for errors.

    Raises
    ------
    InputError
        A tag does not hold one quality per base.
    """
    fields = np.empty((2, len(reads)), dtype=np.int64)
    if not _find_fields(view_of(reads.tags), read_only(reads.bases.offsets), fields):
        for name in _TAGS:
            tag_qualities(reads, name, 0, source)
    return fields


@njit
def _find_fields(
    tags: RaggedView, base_offsets: NDArray[np.int64], fields: NDArray[np.int64]
) -> bool:
    """Find both tags of each read in one walk; return whether all are valid."""
    memory, is_sound = memory_of(tags.data), True
    for row in range(base_offsets.size - 1):
        length = base_offsets[row + 1] - base_offsets[row]
        at, end = np.int64(tags.offsets[row]), np.int64(tags.offsets[row + 1])
        fields[0, row] = fields[1, row] = NO_TAG
        while at < end:
            size = np.int64(field_bytes_in(memory, at, end))
            if size == 0:
                break
            name = read_u16(memory, at)
            for k in range(2):
                if name == _NUMBERS[k] and fields[k, row] == NO_TAG:
                    fields[k, row] = at
                    is_sound &= _is_valid(tags.data, at, end, length)
            at += size
    return is_sound


@njit
def _read_tags(
    tags: RaggedView, name: int, offsets: NDArray[np.int64], qualities: NDArray[np.uint8]
) -> int:
    """Fill the rows of reads that have the tag; return the first row with an invalid tag, or -1."""
    for row in range(offsets.size - 1):
        start, length = offsets[row], offsets[row + 1] - offsets[row]
        at = tag_field(tags, row, name, length)
        if at == INVALID_TAG:
            return row
        if at != NO_TAG:
            for k in range(length):
                qualities[start + k] = tags.data[at + HEAD_BYTES + k] - FIRST_QUALITY
    return -1


@njit
def tag_field(tags: RaggedView, row: Integer, name: int, length: Integer) -> Integer:
    """Return the offset in `tags`, uint8, of the field of a tag of `length` qualities.

    It is negative for none: `NO_TAG` means that the read has no such tag, `INVALID_TAG` that it
    holds something else.
    """
    start, end = np.int64(tags.offsets[row]), np.int64(tags.offsets[row + 1])
    at = find_field(tags.data, start, end, name)
    if at < 0:
        return np.int64(NO_TAG)
    return np.int64(at if _is_valid(tags.data, at, end, length) else INVALID_TAG)


@njit
def _is_valid(data: NDArray[np.uint8], at: Integer, end: Integer, length: Integer) -> bool:
    """Tell whether a field, before `end`, is a text of `length` qualities."""
    if data[at + 2] != _TEXT or field_bytes(data, at, end) != HEAD_BYTES + length + 1:
        return False
    for k in range(at + HEAD_BYTES, at + HEAD_BYTES + length):
        if data[k] < FIRST_QUALITY or data[k] > _LAST_QUALITY:
            return False
    return True
