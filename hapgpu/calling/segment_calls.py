"""Result of a segment: its records, and counts of the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.assembly.haplotypes import AT_LIMIT, NOT_ASSEMBLED, UNROLLED
from hapgpu.calling.batches import (
    ActiveRegions,
    Annotations,
    RegionHaplotypes,
    RegionLikelihoods,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.likelihoods.likelihoods import PreparedReads
from hapgpu.calling.modes import Reference
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.io.alignments.record_order import RecordRun

_OUTCOMES: Final = {
    "cyclic_regions": UNROLLED,
    "regions_not_assembled": NOT_ASSEMBLED,
    "regions_at_haplotype_limit": AT_LIMIT,
}
"""Flags of active regions, by the names of their counts."""


@dataclass(frozen=True, slots=True)
class SegmentCalls:
    """Records of a segment, and of the active regions before it.

    Attributes
    ----------
    segment
        The segment.
    calls
        v records.
    annotations
        Of these records.
    rows
        bool[v]: whether the record is of an active region that starts in the segment.
    counts
        Named counts of the work in the segment.
    realigned
        BAM records of the realigned reads; None if they are not wanted.
    reference
        Reference confidence; None unless the output is a genomic VCF.
    """

    segment: Segment
    calls: VariantCalls
    annotations: Annotations
    rows: NDArray[np.bool_]
    counts: Mapping[str, int]
    realigned: RecordRun | None = None
    reference: Reference | None = None


def no_counts(bases: int, covered_bases: int = 0) -> dict[str, int]:
    """Return the counts of a segment, or of several, without active regions.

    Parameters
    ----------
    bases
        Bases of the segments.
    covered_bases
        Of these, the bases from the first to the last aligned base of any read.
    """
    names = (
        "active_regions",
        "active_bases",
        "haplotypes",
        "variant_regions",
        "cells",
        "modelled_reads",
        "poorly_modelled_reads",
        "records",
        *_OUTCOMES,
    )
    counts = {"bases": bases, "covered_bases": covered_bases}
    return {**counts, **dict.fromkeys(names, 0)}


def segment_counts(segment: SegmentReads) -> dict[str, int]:
    """Return the counts of a segment without active regions; deletions of reads are covered."""
    start, end = segment.segment.start, segment.segment.end
    positions = segment.reads.positions.astype(np.int64)
    ends = np.minimum(positions + reference_lengths(segment.reads.cigars), end)
    # Sorted by position: a read adds the bases after the last end before it.
    last_ends = np.maximum.accumulate(np.append(start, ends))[:-1]
    added = ends - np.maximum(positions, last_ends)
    return no_counts(end - start, int(added[added > 0].sum()))


def region_counts(
    segment: Segment,
    regions: ActiveRegions,
    haplotypes: RegionHaplotypes,
    outcomes: NDArray[np.uint8],
    trimmed: TrimmedRegions,
) -> dict[str, int]:
    """Count the active regions that start in a segment; `outcomes` are flags, uint8[r]."""
    first = int(np.searchsorted(regions.starts, segment.start))
    return {
        "active_regions": len(regions) - first,
        "active_bases": int((regions.ends[first:] - regions.starts[first:]).sum()),
        "haplotypes": int(haplotypes.offsets[-1] - haplotypes.offsets[first]),
        "variant_regions": int((trimmed.kept >= first).sum()),
        **{name: int((outcomes[first:] & flag != 0).sum()) for name, flag in _OUTCOMES.items()},
    }


def read_counts(
    prepared: PreparedReads, likelihoods: RegionLikelihoods, is_own: NDArray[np.bool_]
) -> dict[str, int]:
    """Count cells of the pair-HMM, and the reads that a haplotype explains or none does.

    `is_own`, bool[t], tells which active regions start in the segment.
    """
    batch = prepared.batch
    compared = int(lengths_of(prepared.reads.offsets)[is_own].sum())
    modelled = int(lengths_of(likelihoods.reads.offsets)[is_own].sum())
    return {
        "cells": int((batch.group_bases * batch.group_columns)[is_own].sum()),
        "modelled_reads": modelled,
        "poorly_modelled_reads": compared - modelled,
    }


def no_records(samples: int) -> tuple[VariantCalls, Annotations]:
    """Return no records, of a number of samples."""
    numbers = np.empty(0, dtype=np.int64)
    table = np.empty((0, samples), dtype=np.int32)
    texts = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    values = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    calls = VariantCalls(
        numbers,
        numbers,
        np.zeros(1, dtype=np.int64),
        texts,
        numbers.astype(np.int16),
        numbers.astype(np.float64),
        np.empty((0, samples, 2), dtype=np.int16),
        table.astype(np.int16),
        values,
        numbers.astype(np.int32),
    )
    annotations = Annotations(
        numbers.astype(np.int32),
        table,
        values,
        np.empty((0, len(FIELDS))),
        np.empty((0, samples, 4), dtype=np.int64),
        np.empty((0, 2), dtype=np.int64),
    )
    return calls, annotations
