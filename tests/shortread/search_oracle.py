"""Expected results of the search: the packed hits of the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.shortread.search.hits import HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads
from tests.shortread.made_reads import reverse_complement
from tests.shortread.search.reference import Hit, find_hits

DISTANCE_SHIFT = 62  # bits of a hit
START_SHIFT = 30  # as above
STRAND_SHIFT = 29  # as above
KIND_SHIFT = 27  # as above
MIN_READ_BASES = 10  # docs/methods/map.md

ALL = SearchOptions()
EVERY_OPTION = [
    SearchOptions(errors=errors, indels=indels, forward_only=forward_only)
    for errors in (0, 1)
    for indels in (True, False)
    for forward_only in (False, True)
]


def in_text(
    reads: Sequence[str],
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
    """Return a text with reads and other letters around them, and the reads' starts and lengths."""
    text = "".join(f"ACGT{read}" for read in reads) + "ACGT"
    lengths = np.array([len(read) for read in reads], dtype=np.int32)
    starts = np.cumsum(lengths + 4) - lengths
    bases = np.frombuffer(text.encode(), dtype=np.uint8)
    return bases, starts.astype(np.int32), lengths


def pack(reads: Sequence[str]) -> PackedReads:
    """Pack reads that are in a text with other letters around them."""
    return pack_reads(*in_text(reads))


class Oracle:
    """All hits of some reads, found once, from which options exclude some."""

    def __init__(self, contigs: Sequence[str], reads: Sequence[str]) -> None:
        self.contigs = [contig.upper() for contig in contigs]
        self.reads = [read.upper() for read in reads]
        self.offsets = np.cumsum([0, *map(len, contigs)]).tolist()
        encoded = [contig.encode() for contig in contigs]
        self.hits = [
            find_hits(encoded, read.encode(), ALL) if len(read) >= MIN_READ_BASES else []
            for read in reads
        ]

    def expected(self, options: SearchOptions = ALL) -> HitBatch:
        rows = [
            [self._number(hit, read) for hit in hits if _is_reported(hit, len(read), options)]
            for hits, read in zip(self.hits, self.reads, strict=True)
        ]
        numbers = [number for row in rows for number in row]
        return HitBatch(np.cumsum([0, *map(len, rows)]), np.array(numbers, dtype=np.uint64))

    def _number(self, hit: Hit, read: str) -> int:
        return (
            hit.distance << DISTANCE_SHIFT
            | (self.offsets[hit.contig] + hit.start) << START_SHIFT
            | hit.strand << STRAND_SHIFT
            | (hit.end - hit.start - len(read) + 1) << KIND_SHIFT
            | self._error(hit, read)
        )

    def _error(self, hit: Hit, read: str) -> int:
        if hit.distance == 0:
            return 0
        if hit.end - hit.start != len(read):
            before, _, _ = hit.cigar.partition("M")
            return int(before) if before.isdigit() else 0
        oriented = reverse_complement(read) if hit.strand else read
        window = self.contigs[hit.contig][hit.start : hit.end]
        return next(
            offset
            for offset, (base, letter) in enumerate(zip(oriented, window, strict=True))
            if base != letter or base not in "ACGT"
        )


def _is_reported(hit: Hit, length: int, options: SearchOptions) -> bool:
    return (
        hit.distance <= options.errors
        and (options.indels or hit.end - hit.start == length)
        and not (options.forward_only and hit.strand)
    )


def assert_same_hits(found: HitBatch, expected: HitBatch) -> None:
    """Compare hit by hit and in order; report the reads that differ."""
    assert found.offsets.dtype == expected.offsets.dtype == np.int64
    assert found.hits.dtype == expected.hits.dtype == np.uint64
    same_counts = np.array_equal(found.offsets, expected.offsets)
    if same_counts and np.array_equal(found.hits, expected.hits):
        return
    assert found.offsets.shape == expected.offsets.shape
    differing = {
        read: (describe(_row(found, read)), describe(_row(expected, read)))
        for read in range(expected.offsets.size - 1)
        if not np.array_equal(_row(found, read), _row(expected, read))
    }
    pytest.fail(f"found and expected hits of reads: {differing}")


def describe(hits: NDArray[np.uint64]) -> list[tuple[int, ...]]:
    """Return distance, start, strand, kind and error of hits."""
    batch = HitBatch(np.array([0, hits.size]), hits)
    columns = (batch.distances, batch.starts, batch.strands, batch.kinds, batch.errors)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _row(batch: HitBatch, read: int) -> NDArray[np.uint64]:
    return batch.hits[batch.offsets[read] : batch.offsets[read + 1]]
