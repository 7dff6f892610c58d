"""Qualities of reads, prepared for the pair-HMM as GATK HaplotypeCaller prepares them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of, part_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, longest_row, read_only, view_of
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.tags import HEAD_BYTES
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.dragstr.parameters import DragstrParameters
from hapgpu.pairhmm.dragstr.repeats import put_penalties
from hapgpu.pairhmm.options import MIN_QUALITY, PcrModel, QualityOptions
from hapgpu.pairhmm.reads.pcr_model import gap_open_limits_of_bases
from hapgpu.pairhmm.reads.quality_tags import FIRST_QUALITY, NO_TAG, quality_fields
from hapgpu.pairhmm.reads.tandem_repeats import PADDING, count_row
from hapgpu.runtime.jit import njit

_NO_CAP: Final = 255


def prepared_parts(
    reads: ReadBatch,
    parts: ReadParts,
    options: QualityOptions,
    source: str,
    base_qualities: Ragged | None = None,
    dragstr: DragstrParameters | None = None,
) -> HmmReads:
    """Return parts of reads, in order, each prepared as if it were a whole read.

    The qualities follow the rules of GATK HaplotypeCaller. Soft-clipped bases are kept. Repeats end
    where a part ends, and the last base of a part keeps its gap-open qualities, as in GATK, which
    clips reads before it prepares them.

    Parameters
    ----------
    reads
        Reads with bases and base qualities.
    parts
        Parts of the reads, each with bases.
    options, source
        Options of the preparation, and the name of the input, for errors.
    base_qualities
        uint8 Phred, a row per part, a value per base: used instead of the qualities of the records.
    dragstr
        Gap penalties by the repeats of each part, instead of those of `options` and of tags.

    Raises
    ------
    InputError
        A tag `BI` or `BD` of a read does not hold one quality per base.
    """
    starts, lengths = reads.bases.offsets[parts.reads] + parts.starts, parts.lengths
    bases = Ragged.gather(reads.bases.data, starts, lengths)
    if base_qualities is None:
        base_qualities = Ragged.gather(reads.qualities.data, starts, lengths)
    if dragstr is None:
        fields = quality_fields(reads, source)
    else:
        fields = np.full((2, len(reads)), NO_TAG, dtype=np.int64)
    has_tags = bool((fields != NO_TAG).any())
    size = bases.data.size
    prepared, insertions = np.empty((2, size), dtype=np.uint8)
    deletions = np.empty(size if has_tags else 0, dtype=np.uint8)
    _prepare(
        view_of(bases),
        read_only(base_qualities.data),
        _Tags(view_of(reads.tags), read_only(fields)),
        _Parts(read_only(parts.reads), read_only(parts.starts)),
        _rules(reads, options),
        np.empty(int(lengths.max(initial=0)) + PADDING, dtype=np.uint8),
        _Columns(prepared, insertions, deletions),
    )
    if dragstr is not None:
        return _with_penalties(bases, prepared, dragstr)
    continuations = np.broadcast_to(np.uint8(options.gap_continuation), bases.data.shape)
    return HmmReads(
        bases, prepared, insertions, deletions if has_tags else insertions, continuations
    )


def _with_penalties(
    bases: Ragged, base_qualities: NDArray[np.uint8], parameters: DragstrParameters
) -> HmmReads:
    """Return reads with the gap penalties of their repeats."""
    opens, continuations = np.empty((2, bases.data.size), dtype=np.uint8)
    by_repeat, continuations_by_repeat = map(read_only, parameters.read_penalties())
    put_penalties(view_of(bases), by_repeat, continuations_by_repeat, opens, continuations)
    return HmmReads(bases, base_qualities, opens, opens, continuations)


class _Tags(NamedTuple):
    """Tags of reads, and int64[2, n]: the fields of `quality_fields` in them."""

    data: RaggedView
    fields: NDArray[np.int64]


class _Parts(NamedTuple):
    """Columns of `ReadParts`."""

    reads: NDArray[np.int64]
    starts: NDArray[np.int64]


class _Rules(NamedTuple):
    """`QualityOptions` as columns and numbers.

    Attributes
    ----------
    limits
        uint8[MAX_COPIES + 1], by the counts of `count_row`.
    has_limits
        Whether copies of repeats are counted.
    gap_open, threshold
        As of `QualityOptions`.
    caps
        uint8[n]: the highest base quality of each read.
    """

    limits: NDArray[np.uint8]
    has_limits: bool
    gap_open: int
    threshold: int
    caps: NDArray[np.uint8]


class _Columns(NamedTuple):
    """Columns of `HmmReads`; `deletions` are empty without any tag: they equal insertions."""

    base_qualities: NDArray[np.uint8]
    insertions: NDArray[np.uint8]
    deletions: NDArray[np.uint8]


def _rules(reads: ReadBatch, options: QualityOptions) -> _Rules:
    caps = reads.mapping_qualities
    if not options.cap_by_mapping_quality:
        caps = np.full_like(caps, _NO_CAP)
    return _Rules(
        read_only(gap_open_limits_of_bases(options.pcr_model)),
        options.pcr_model is not PcrModel.NONE,
        options.gap_open,
        options.base_quality_threshold,
        read_only(caps),
    )


@njit
def _prepare(
    bases: RaggedView,
    base_qualities: NDArray[np.uint8],
    tags: _Tags,
    parts: _Parts,
    rules: _Rules,
    padded: NDArray[np.uint8],
    out: _Columns,
) -> None:
    """Fill in the columns part by part, while the bases of a part are cached.

    `padded`, uint8, is scratch memory. It is of the caller, because Numba frees an array after its
    last use by name.
    """
    counts = np.zeros(longest_row(bases), dtype=np.uint8)
    text, scratch, of_counts = memory_of(bases.data), memory_of(padded), memory_of(counts)
    for part in range(parts.reads.size):
        start, end = bases.offsets[part], bases.offsets[part + 1]
        read = parts.reads[part]
        cap = rules.caps[read]
        for k in range(start, end):
            quality = min(base_qualities[k], cap)
            out.base_qualities[k] = quality if quality >= rules.threshold else MIN_QUALITY
        if rules.has_limits:
            length = end - start
            count_row(part_of(text, start, length), scratch, part_of(of_counts, 0, length))
        skipped = HEAD_BYTES + parts.starts[part]
        _put_gap_opens(tags, 0, read, skipped, rules, counts, out.insertions[start:end])
        if out.deletions.size:
            _put_gap_opens(tags, 1, read, skipped, rules, counts, out.deletions[start:end])


@njit
def _put_gap_opens(
    tags: _Tags,
    tag: int,
    read: Integer,
    skipped: Integer,
    rules: _Rules,
    counts: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> None:
    """Write the qualities of a tag, or the default without one, within their limits."""
    field = tags.fields[tag, read]
    for k in range(out.size):
        quality = np.int64(rules.gap_open)
        if field != NO_TAG:
            quality = np.int64(tags.data.data[field + skipped + k]) - FIRST_QUALITY
        if rules.has_limits:
            quality = min(quality, np.int64(rules.limits[counts[k]]))
        out[k] = max(quality, np.int64(MIN_QUALITY))


def check_base_qualities(reads: ReadBatch, source: str, remedy: str) -> None:
    """Raise an error for reads without base qualities.

    Parameters
    ----------
    reads
        Reads with bases.
    source
        Name of the input, for the error.
    remedy
        An imperative, for the error.

    Raises
    ------
    InputError
        A read has no base qualities.
    """
    first = reads.qualities.data[reads.qualities.offsets[:-1]]
    missing = np.flatnonzero(first == MISSING_QUALITY)
    if missing.size:
        name = reads.names[missing[0]].tobytes().decode("ascii", errors="replace")
        raise InputError(
            f"{source}, read '{name}': no base qualities, which likelihoods need; {remedy}"
        )
