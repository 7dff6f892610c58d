"""Windows of reads, with the prepared qualities of their whole reads."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of, part_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.tags import HEAD_BYTES, name_number
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.options import MIN_QUALITY, PcrModel, QualityOptions
from hapgpu.pairhmm.reads.pcr_model import gap_open_limits_of_bases
from hapgpu.pairhmm.reads.qualities import check_base_qualities
from hapgpu.pairhmm.reads.quality_tags import (
    FIRST_QUALITY,
    INVALID_TAG,
    NO_TAG,
    tag_field,
    tag_qualities,
)
from hapgpu.pairhmm.reads.tandem_repeats import PADDING, count_row
from hapgpu.runtime.jit import njit, njit_inlined

_TAGS: Final = ("BI", "BD")
_BI, _BD = map(name_number, _TAGS)
_NO_CAP: Final = 255


class _Reads(NamedTuple):
    """Columns of `ReadBatch`."""

    bases: RaggedView
    qualities: NDArray[np.uint8]
    mapping_qualities: NDArray[np.uint8]
    tags: RaggedView


class _Parts(NamedTuple):
    """`ReadParts`, and the offsets of their bases in the output."""

    reads: NDArray[np.int64]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]


class _Rules(NamedTuple):
    """`QualityOptions`: `limits` by the counts of `count_row`, and the highest cap."""

    limits: NDArray[np.uint8]
    has_limits: bool
    gap_open: int
    lowest_cap: int
    threshold: int


class _Columns(NamedTuple):
    """Columns of `HmmReads`."""

    bases: NDArray[np.uint8]
    base_qualities: NDArray[np.uint8]
    insertions: NDArray[np.uint8]
    deletions: NDArray[np.uint8]


def prepared_windows(
    reads: ReadBatch, parts: ReadParts, options: QualityOptions, source: str, remedy: str
) -> HmmReads:
    """Return parts of reads, in order, prepared by the rules of GATK HaplotypeCaller.

    The parts have the qualities that the whole reads get. Unlike in `prepared_parts`, repeats end
    where the read ends. Soft-clipped bases are kept.

    Parameters
    ----------
    reads
        Reads with bases.
    parts
        Parts of the reads, each with bases.
    options
        Options of the preparation.
    source, remedy
        Name of the input, and an imperative, for errors: see `check_base_qualities`.

    Raises
    ------
    InputError
        A read of a part has no base qualities, or a tag `BI` or `BD` does not hold one quality per
        base.
    """
    offsets = offsets_of(parts.lengths)
    columns = _Columns(*(np.empty(int(offsets[-1]), dtype=np.uint8) for _ in range(4)))
    rules = _Rules(
        read_only(gap_open_limits_of_bases(options.pcr_model)),
        options.pcr_model is not PcrModel.NONE,
        options.gap_open,
        0 if options.cap_by_mapping_quality else _NO_CAP,
        options.base_quality_threshold,
    )
    is_sound = _prepare(
        _Reads(
            view_of(reads.bases),
            read_only(reads.qualities.data),
            read_only(reads.mapping_qualities),
            view_of(reads.tags),
        ),
        _Parts(read_only(parts.reads), read_only(parts.starts), read_only(offsets)),
        rules,
        np.empty(int(reads.bases.lengths.max(initial=0)) + PADDING, dtype=np.uint8),
        columns,
    )
    if not is_sound:
        used = reads.take(np.unique(parts.reads))
        check_base_qualities(used, source, remedy)
        for name in _TAGS:
            tag_qualities(used, name, options.gap_open, source)
    bases = Ragged(columns.bases, offsets)
    continuations = np.broadcast_to(np.uint8(options.gap_continuation), columns.bases.shape)
    return HmmReads(bases, *columns[1:], continuations)


@njit
def _prepare(
    reads: _Reads, parts: _Parts, rules: _Rules, padded: NDArray[np.uint8], out: _Columns
) -> bool:
    """Write all parts; return whether their reads have sound qualities.

    `padded`, uint8, is scratch memory of the caller, see `count_row`.
    """
    bases, offsets = reads.bases.data, reads.bases.offsets
    counts = np.empty(bases.size if rules.has_limits else 0, np.uint8)
    is_counted = np.zeros(offsets.size - 1, np.bool_)
    text, scratch, of_counts = memory_of(bases), memory_of(padded), memory_of(counts)
    for part in range(parts.reads.size):
        read, to = parts.reads[part], parts.offsets[part]
        start, end = offsets[read], offsets[read + 1]
        if reads.qualities[start] == MISSING_QUALITY:
            return False
        if rules.has_limits and not is_counted[read]:
            size = end - start
            count_row(part_of(text, start, size), scratch, part_of(of_counts, start, size))
            is_counted[read] = True
        first = start + parts.starts[part]
        length = parts.offsets[part + 1] - to
        cap = max(np.int64(reads.mapping_qualities[read]), np.int64(rules.lowest_cap))
        for k in range(length):
            out.bases[to + k] = bases[first + k]
            quality = min(np.int64(reads.qualities[first + k]), cap)
            out.base_qualities[to + k] = quality if quality >= rules.threshold else MIN_QUALITY
        insertions = tag_field(reads.tags, read, _BI, end - start)
        deletions = tag_field(reads.tags, read, _BD, end - start)
        if min(insertions, deletions) == INVALID_TAG:
            return False
        skipped = parts.starts[part] + HEAD_BYTES
        _put_gap_opens(reads.tags, insertions, skipped, rules, counts, first, length, out[2], to)
        _put_gap_opens(reads.tags, deletions, skipped, rules, counts, first, length, out[3], to)
    return True


@njit_inlined
def _put_gap_opens(
    tags: RaggedView,
    field: Integer,
    skipped: Integer,
    rules: _Rules,
    counts: NDArray[np.uint8],
    first: Integer,
    length: Integer,
    out: NDArray[np.uint8],
    to: Integer,
) -> None:
    """Write the qualities of a tag, or the default without one, within their limits."""
    for k in range(length):
        quality = np.int64(rules.gap_open)
        if field != NO_TAG:
            quality = np.int64(tags.data[field + skipped + k]) - FIRST_QUALITY
        if rules.has_limits:
            quality = min(quality, np.int64(rules.limits[counts[first + k]]))
        out[to + k] = max(quality, np.int64(MIN_QUALITY))
