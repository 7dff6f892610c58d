"""Indel qualities from the tags `BI` and `BD`, as base recalibration writes them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.errors import InputError
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.runtime.jit import njit

_TEXT: Final = ord("Z")
_FIRST_QUALITY: Final = 33
_LAST_QUALITY: Final = 126


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


@njit
def _read_tags(
    tags: RaggedView, name: int, offsets: NDArray[np.int64], qualities: NDArray[np.uint8]
) -> int:
    """Fill the rows of reads that have the tag; return the first row with an invalid tag, or -1."""
    for row in range(offsets.size - 1):
        end = tags.offsets[row + 1]
        at = find_field(tags.data, tags.offsets[row], end, name)
        if at < 0:
            continue
        start, length = offsets[row], offsets[row + 1] - offsets[row]
        if tags.data[at + 2] != _TEXT or field_bytes(tags.data, at, end) != HEAD_BYTES + length + 1:
            return row
        for k in range(length):
            letter = tags.data[at + HEAD_BYTES + k]
            if letter < _FIRST_QUALITY or letter > _LAST_QUALITY:
                return row
            qualities[start + k] = letter - _FIRST_QUALITY
    return -1
