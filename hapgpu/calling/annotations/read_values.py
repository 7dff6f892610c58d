"""Values of reads at positions, which rank sum tests compare."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.rank_sums import MISSING
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionReads
from hapgpu.cigar.encoding import HARD_CLIP, INSERTION
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

RANK_SUMS: Final = (
    "BaseQRankSum",
    "ClippingRankSum",
    "LikelihoodRankSum",
    "MQRankSum",
    "ReadPosRankSum",
)
"""INFO fields of rank sum tests."""


class RankedValues:
    """Values of x reads at sites, int64[x] for each of `RANK_SUMS`; computed when asked for.

    Parameters
    ----------
    sites
        s sites.
    reads
        x reads at the sites.
    region_reads
        The reads that `reads` refers to.
    records
        The reads of the segment.
    """

    def __init__(
        self, sites: CallSites, reads: ReadsAtSites, region_reads: RegionReads, records: ReadBatch
    ) -> None:
        self._sites = sites
        self._reads = reads
        self._region_reads = region_reads
        self._records = records

    def of(self, name: str) -> NDArray[np.int64]:
        """Return int64[x]: the values that a test compares, or `MISSING`."""
        if name == "BaseQRankSum":
            return self._at_sites[0]
        if name == "ReadPosRankSum":
            return self._at_sites[1]
        if name == "LikelihoodRankSum":
            return likelihood_ranks(self._reads.offsets, self._reads.likelihoods)
        rows = self._reads.reads
        if name == "ClippingRankSum":
            before, after = clipped_bases(self._region_reads, self._records)
            return (before + after)[rows]
        qualities = self._records.mapping_qualities[self._region_reads.rows[rows]]
        return qualities.astype(np.int64)

    @cached_property
    def _at_sites(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        lengths = lengths_of(self._reads.offsets)
        starts = np.repeat(self._sites.starts, lengths)
        ends = np.repeat(self._sites.ends, lengths)
        return values_at(self._region_reads, self._records, self._reads.reads, starts, ends)


class _Alignments(NamedTuple):
    """Columns of `RegionReads`, and the bases of each read that are clipped at both ends."""

    starts: NDArray[np.int64]
    cigars: RaggedView
    qualities: RaggedView
    clipped_before: NDArray[np.int64]
    clipped_after: NDArray[np.int64]


def values_at(
    reads: RegionReads,
    records: ReadBatch,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the base qualities at positions, and the distances from the nearer end of the read.

    Parameters
    ----------
    reads
        m reads.
    records
        The reads of the segment.
    rows
        int64[x]: reads.
    starts, ends
        int64[x]: REF, 0-based, half-open; the position is its start.

    Returns
    -------
    int64[x] each, or `MISSING`. A base quality is missing in a deletion, and outside the read. A
    distance is in bases of the whole read, clipped ones included; in a deletion the base after it
    counts. A read that begins with an insertion at the end of REF has the distance 0.
    """
    before, after = clipped_bases(reads, records)
    alignments = _Alignments(
        read_only(reads.starts), view_of(reads.cigars), view_of(reads.qualities), before, after
    )
    qualities, distances = np.empty((2, rows.size), dtype=np.int64)
    places = read_only(rows), read_only(starts), read_only(ends)
    _measure(alignments, places, qualities, distances)
    return qualities, distances


def clipped_bases(
    reads: RegionReads, records: ReadBatch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return int64[m] each: bases of the whole read before and after those of `reads`.

    Parameters
    ----------
    reads
        m reads.
    records
        The reads of the segment.
    """
    before = np.array(reads.base_starts)
    after = records.bases.lengths_of(reads.rows) - reads.base_ends
    _add_hard_clips(view_of(records.cigars), read_only(reads.rows), before, after)
    return read_only(before), read_only(after)


@njit
def _add_hard_clips(
    cigars: RaggedView,
    rows: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> None:
    for k in range(rows.size):
        first, end = cigars.offsets[rows[k]], cigars.offsets[rows[k] + 1]
        if first < end and cigars.data[first] & 15 == HARD_CLIP:
            before[k] += np.int64(cigars.data[first] >> 4)
        if first + 1 < end and cigars.data[end - 1] & 15 == HARD_CLIP:
            after[k] += np.int64(cigars.data[end - 1] >> 4)


@njit
def _measure(
    reads: _Alignments,
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    qualities: NDArray[np.int64],
    distances: NDArray[np.int64],
) -> None:
    for x in range(qualities.size):
        row = places[0][x]
        qualities[x] = distances[x] = MISSING
        base, is_aligned = _base_at(reads, row, places[1][x])
        if base >= 0:
            first, end = reads.qualities.offsets[row], reads.qualities.offsets[row + 1]
            if is_aligned:
                qualities[x] = np.int64(reads.qualities.data[first + base])
            after = end - first - 1 - base + reads.clipped_after[row]
            distances[x] = min(base + reads.clipped_before[row], after)
        if reads.starts[row] == places[2][x] and _begins_with_insertion(reads.cigars, row):
            distances[x] = 0


@njit_inlined
def _base_at(reads: _Alignments, row: Integer, position: Integer) -> tuple[Integer, bool]:
    """Return the base of a read at a position, or after a deletion there, and if it is aligned.

    The base is -1 if the position is outside the alignment.
    """
    at, base = reads.starts[row], np.int64(0)
    for k in range(reads.cigars.offsets[row], reads.cigars.offsets[row + 1]):
        if position < at:
            break
        length, operation = np.int64(reads.cigars.data[k] >> 4), reads.cigars.data[k] & 15
        has_bases = QUERY_OPERATIONS >> operation & 1 == 1
        if REFERENCE_OPERATIONS >> operation & 1:
            if position < at + length:
                return (base + position - at, True) if has_bases else (base, False)
            at += length
        if has_bases:
            base += length
    return np.int64(-1), False


@njit_inlined
def _begins_with_insertion(cigars: RaggedView, row: Integer) -> bool:
    first = cigars.offsets[row]
    return bool(first < cigars.offsets[row + 1] and cigars.data[first] & 15 == INSERTION)


def likelihood_ranks(offsets: NDArray[np.int64], likelihoods: Ragged) -> NDArray[np.int64]:
    """Return int64[x]: ranks of the likelihoods of the best alleles of reads among those of a site.

    Equal likelihoods have the same rank, and ranks have no gaps.

    Parameters
    ----------
    offsets
        int64[s + 1]: the reads of site i are rows `offsets[i]` to `offsets[i + 1]`.
    likelihoods
        float64 rows, x of them, none empty: a value per allele of the site.
    """
    if not len(likelihoods):
        return np.empty(0, dtype=np.int64)
    best = np.maximum.reduceat(likelihoods.data, likelihoods.offsets[:-1])
    sites = np.repeat(np.arange(offsets.size - 1), lengths_of(offsets))
    order = np.lexsort((best, sites))
    is_new = np.ones(best.size, dtype=np.bool_)
    is_new[1:] = (best[order[1:]] != best[order[:-1]]) | (sites[order[1:]] != sites[order[:-1]])
    numbers = np.cumsum(is_new)
    ranks = np.empty(best.size, dtype=np.int64)
    ranks[order] = numbers - numbers[offsets[sites[order]]]
    return ranks
