"""Loci, which are groups of close sites, and batches of VCF records that hold whole groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import Loci, ShiftRanges
from hapgpu.io.vcf.batches import END, VcfBatch
from hapgpu.runtime.jit import njit

OVERLAPPING_FACTOR: Final = 4
"""Factor for `max_combinations` of a locus that could be split only within a repeat."""

_NO_NEXT_RECORD: Final = 2**62


def loci_of(
    shift_ranges: ShiftRanges,
    option_counts: NDArray[np.int64],
    distance: int,
    max_combinations: int,
) -> Loci:
    """Group close sites into loci.

    A site joins the locus before it if its shift range starts at most `distance` after the largest
    end of the shift ranges of that locus. A locus with too many combinations is split at the widest
    gap between a shift range and all shift ranges before it; overlaps are negative gaps. Ties: the
    gap nearest to the middle, then the first. The parts are split likewise. Where the widest gap is
    negative, `OVERLAPPING_FACTOR` times as many combinations are allowed: sites of one repeat that
    are genotyped separately make each other's genotypes wrong.

    Parameters
    ----------
    shift_ranges
        Shift ranges of s sites of one contig, sorted by position.
    option_counts
        int64[s], at least 1: the factor by which each site multiplies the combinations of its
        locus.
    distance
        In bases, at least 0.
    max_combinations
        Combinations per locus, at most, except where shift ranges overlap and for a single site.
    """
    offsets, starts, ends = _grouped(
        read_only(shift_ranges.starts),
        read_only(shift_ranges.ends),
        read_only(option_counts),
        distance,
        max_combinations,
    )
    return Loci(offsets, starts, ends)


@njit
def _grouped(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    option_counts: NDArray[np.int64],
    distance: int,
    max_combinations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of loci in the sites, int64[l + 1], their starts and ends, int64[l]."""
    sites = starts.size
    offsets = np.zeros(sites + 1, np.int64)
    locus_starts, locus_ends = np.empty(sites, np.int64), np.empty(sites, np.int64)
    loci = first = 0
    part_ends = np.empty(sites + 1, np.int64)  # ends of the parts of a group, last first
    while first < sites:
        part_ends[0], parts = _group_end(starts, ends, first, distance), 1
        while parts:
            end = part_ends[parts - 1]
            if end - first > 1 and not _fits(option_counts, first, end, max_combinations):
                site, gap = _widest_gap(starts, ends, first, end)
                allowed = max_combinations if gap >= 0 else OVERLAPPING_FACTOR * max_combinations
                if not _fits(option_counts, first, end, allowed):
                    part_ends[parts] = site
                    parts += 1
                    continue
            locus_starts[loci], locus_ends[loci] = starts[first], ends[first]
            for k in range(first + 1, end):
                locus_starts[loci] = min(locus_starts[loci], starts[k])
                locus_ends[loci] = max(locus_ends[loci], ends[k])
            loci += 1
            offsets[loci] = first = end
            parts -= 1
    return offsets[: loci + 1].copy(), locus_starts[:loci].copy(), locus_ends[:loci].copy()


@njit
def _group_end(
    starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, distance: int
) -> int:
    """Return the end of the sites that are grouped with the first site."""
    max_end, site = ends[first], first + 1
    while site < starts.size and starts[site] - max_end <= distance:
        max_end = max(max_end, ends[site])
        site += 1
    return site


@njit
def _fits(option_counts: NDArray[np.int64], first: int, end: int, max_combinations: int) -> bool:
    combinations = 1
    for site in range(first, end):
        combinations *= option_counts[site]
        if combinations > max_combinations:
            return False
    return True


@njit
def _widest_gap(
    starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, end: int
) -> tuple[int, int]:
    """Return the site after the widest gap of at least two sites, and the gap."""
    max_end, widest, best = ends[first], starts[first + 1] - ends[first], first + 1
    for site in range(first + 1, end):
        gap = starts[site] - max_end
        is_nearer = abs(2 * site - first - end) < abs(2 * best - first - end)
        if gap > widest or (gap == widest and is_nearer):
            widest, best = gap, site
        max_end = max(max_end, ends[site])
    return best, widest


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """Limits of a batch of records; results do not depend on them.

    Attributes
    ----------
    records
        Number of records, at most.
    bases
        Distance between the starts of the first and the last record, at most.
    text
        Bytes of their lines, at most, except for a single record.
    """

    records: int = 8192
    bases: int = 8_000_000
    text: int = 1 << 23


DEFAULT_LIMITS: Final = RecordLimits()


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Consecutive records of one contig.

    Attributes
    ----------
    records
        At least one.
    next_start
        Start of the next record of the contig; after the end of any contig if there is none.
    """

    records: VcfBatch
    next_start: int


def record_batches_of(batches: Iterable[VcfBatch], limits: RecordLimits) -> Iterator[RecordBatch]:
    """Yield the records of a file, which come in batches of any size, in batches of these limits.

    A batch is yielded when the next record is known.
    """
    parts: list[VcfBatch] = []
    for batch in batches:
        if parts and batch.contig != parts[0].contig:
            yield RecordBatch(VcfBatch.concatenate(parts), _NO_NEXT_RECORD)
            parts = []
        rest = batch
        while len(rest):
            count = _fitting(parts, rest, limits)
            if count:
                parts.append(rest[:count])
                rest = rest[count:]
            else:
                yield RecordBatch(VcfBatch.concatenate(parts), int(rest.starts[0]))
                parts = []
    if parts:
        yield RecordBatch(VcfBatch.concatenate(parts), _NO_NEXT_RECORD)


def _fitting(parts: list[VcfBatch], batch: VcfBatch, limits: RecordLimits) -> int:
    """Return how many of the next records may join those of the same batch."""
    first = parts[0] if parts else batch
    before = sum(int(part.columns[-1, END] - part.columns[0, 0]) for part in parts)
    sizes = batch.columns[:, END] - batch.columns[0, 0]
    count = min(
        limits.records - sum(map(len, parts)),
        int(np.searchsorted(batch.starts, first.starts[0] + limits.bases, side="right")),
        int(np.searchsorted(sizes, limits.text - before, side="right")),
        len(batch),
    )
    return max(count, 0 if parts else 1)
