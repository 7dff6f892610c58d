"""Segments of made-up reads, and their clipped reads as plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import (
    ActiveRegions,
    Events,
    RegionHaplotypes,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
)
from hapgpu.cigar.encoding import cigar_strings, parse_cigar
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.reads.clipping_oracle import Clipped
from tests.io.sam_oracle import QUERY_OPERATIONS, Row, batch_of

LENGTH = 400
"""Length of the contig."""

Plain = tuple[int, int, list[int], int, int, str, list[int]]
"""Number of the record, sample, offsets of bases, start, end, CIGAR, qualities."""


def made_row(name: str, position: int, cigar: str, **more: Any) -> Row:
    """Return a read with made-up bases and quality 30 everywhere, if not given."""
    elements = tuple((int(c & 15), int(c >> 4)) for c in parse_cigar(cigar))
    count = sum(length for operation, length in elements if operation in QUERY_OPERATIONS)
    columns: dict[str, Any] = {
        "flag": 0,
        "reference": 0,
        "mapping_quality": 60,
        "mate_reference": -1,
        "mate_position": -1,
        "template_length": 0,
        "bases": "ACGGT" * count,
        "qualities": (30,) * count,
    }
    columns |= more
    columns["bases"] = columns["bases"][:count]
    return Row(name=name, position=position, cigar=elements, tags=(), **columns)


def segment_of(rows: Sequence[Row], samples: Sequence[int]) -> SegmentReads:
    """Return a segment with these reads, sorted by position."""
    return SegmentReads(
        Segment("chr1", LENGTH, 0, LENGTH, 0, LENGTH),
        0,
        LENGTH,
        ReferenceSlice(0, np.full(LENGTH, ord("A"), dtype=np.uint8)),
        batch_of(rows),
        np.array(samples, dtype=np.int32),
    )


def regions_of(spans: Sequence[tuple[int, int]]) -> ActiveRegions:
    """Return active regions with these padded spans."""
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return ActiveRegions(starts, ends, starts, ends)


def trimmed_to(kept: Sequence[int], spans: Sequence[tuple[int, int]]) -> TrimmedRegions:
    """Return trimmed active regions with these padded spans, without haplotypes."""
    nothing = np.empty(0, dtype=np.int64)
    none = Ragged(np.empty(0, dtype=np.uint8), offsets_of([]))
    haplotypes = RegionHaplotypes(
        np.zeros(len(kept) + 1, dtype=np.int64),
        none,
        none,
        np.empty(0, dtype=np.bool_),
        np.empty(0),
    )
    return TrimmedRegions(
        np.array(kept, dtype=np.int64),
        regions_of(spans),
        haplotypes,
        Events(offsets_of([]), nothing, nothing, none),
    )


def plain_reads(reads: RegionReads) -> list[list[Plain]]:
    """Return the reads of each active region as plain rows."""
    columns = zip(
        reads.rows.tolist(),
        reads.samples.tolist(),
        (
            list(range(start, end))
            for start, end in zip(reads.base_starts, reads.base_ends, strict=True)
        ),
        reads.starts.tolist(),
        reads.ends.tolist(),
        cigar_strings(reads.cigars),
        (row.tolist() for row in reads.qualities),
        strict=True,
    )
    rows = list(columns)
    bounds = reads.offsets.tolist()
    return [rows[start:end] for start, end in pairwise(bounds)]


def plain_clipped(reads: Sequence[Clipped]) -> list[Plain]:
    """Return reads of the oracle as plain rows."""
    return [
        (
            read.number,
            read.sample,
            read.bases,
            read.start,
            read.end,
            read.cigar,
            list(read.qualities),
        )
        for read in reads
    ]
