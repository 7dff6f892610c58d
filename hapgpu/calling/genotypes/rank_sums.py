"""Rank sum tests of read values: GATK's RankSumTest and MannWhitneyU."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import RegionReads
from hapgpu.calling.genotypes.evidence import ALTERNATE, REFERENCE
from hapgpu.cigar.encoding import HARD_CLIP, INSERTION
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

# Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: error below 4.5e-4.
_C0, _C1, _C2 = 2.515517, 0.802853, 0.010328
_D1, _D2, _D3 = 1.432788, 0.189269, 0.001308
_STEPS: Final = 3
_SQRT_2: Final = math.sqrt(2.0)
_SQRT_2_PI: Final = math.sqrt(2.0 * math.pi)

MISSING: Final = -1
"""The value of a read without one."""
_MIN_NORMAL: Final = 10
"""With so many values on one side the normal approximation is used."""
_MAX_EXACT: Final = 2 * (_MIN_NORMAL - 1)
_MAX_RANK_SUM: Final = _MAX_EXACT * (_MAX_EXACT + 1)
"""Twice the sum of all ranks in an exact test."""


def rank_sums(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    sides: NDArray[np.int8],
    values: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return float64[v]: the z score of Mann and Whitney's test, negative if ALT values are lower.

    Parameters
    ----------
    rows
        int64[v] each: the first read of each record, and the end of its reads.
    sides
        int8[x]: `REFERENCE`, `ALTERNATE` or `NEITHER`.
    values
        int64[x], not negative, or `MISSING`.

    Returns
    -------
    NaN where one side has no values.
    """
    scores = np.empty(rows[0].size, dtype=np.float64)
    counts = np.zeros((2, int(values.max(initial=0)) + 1), dtype=np.int64)
    ways = np.empty((_MIN_NORMAL, _MAX_RANK_SUM + 1), dtype=np.int64)
    bounds = read_only(rows[0]), read_only(rows[1])
    _score(bounds, read_only(sides), read_only(values), counts, ways, scores)
    return scores


@njit
def _score(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    sides: NDArray[np.int8],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    ways: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Count the values of each side in `counts`, which is zero before and after, and test them."""
    for row in range(scores.size):
        low, high = np.int64(counts.shape[1]), np.int64(-1)
        for x in range(rows[0][row], rows[1][row]):
            value = values[x]
            if value != MISSING and (sides[x] == REFERENCE or sides[x] == ALTERNATE):
                counts[sides[x], value] += 1
                low, high = min(low, value), max(high, value)
        scores[row] = _z_score(counts, low, high, ways)
        for value in range(low, high + 1):
            counts[REFERENCE, value] = 0
            counts[ALTERNATE, value] = 0


@njit
def _z_score(
    counts: NDArray[np.int64], low: Integer, high: Integer, ways: NDArray[np.int64]
) -> float:
    """Return the z score of counted values from `low` to `high`."""
    references, alternates = np.int64(0), np.int64(0)
    doubled, ties = np.int64(0), 0.0  # `doubled` is twice the sum of the ranks of ALT
    for value in range(low, high + 1):
        reference, alternate = counts[REFERENCE, value], counts[ALTERNATE, value]
        size = reference + alternate
        doubled += alternate * (2 * (references + alternates) + size + 1)
        references += reference
        alternates += alternate
        ties += float(size) * (float(size) * size - 1.0)
    if references == 0 or alternates == 0:
        return np.nan
    if references < _MIN_NORMAL and alternates < _MIN_NORMAL:
        return normal_quantile(_exact_p(counts, low, high, alternates, doubled, ways))
    total = float(references + alternates)
    if counts[REFERENCE, low] + counts[ALTERNATE, low] == total:
        ties = 0.0  # all values are equal: no correction, for a z of 0
    product = float(references) * alternates
    u = 0.5 * (doubled - alternates * (alternates + 1))
    variance = product / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))
    correction = 0.5 if ties > 0.0 else 0.0
    return (u - 0.5 * product + correction) / math.sqrt(variance)


@njit
def _exact_p(
    counts: NDArray[np.int64],
    low: Integer,
    high: Integer,
    chosen: Integer,
    observed: Integer,
    ways: NDArray[np.int64],
) -> float:
    """Return the fraction of choices of `chosen` values with a lower rank sum than observed.

    Choices with the observed rank sum count half. `ways[k, s]` is the number of choices of k values
    with twice the rank sum s.
    """
    for k in range(chosen + 1):
        for doubled in range(_MAX_RANK_SUM + 1):
            ways[k, doubled] = 0
    ways[0, 0] = 1
    before = np.int64(0)
    for value in range(low, high + 1):
        size = counts[REFERENCE, value] + counts[ALTERNATE, value]
        rank = 2 * before + size + 1
        for _ in range(size):
            for k in range(chosen, 0, -1):
                for doubled in range(_MAX_RANK_SUM, rank - 1, -1):
                    ways[k, doubled] += ways[k - 1, doubled - rank]
        before += size
    total, lower = np.int64(0), np.int64(0)
    for doubled in range(_MAX_RANK_SUM + 1):
        total += ways[chosen, doubled]
        if doubled < observed:
            lower += ways[chosen, doubled]
    return float((lower + 0.5 * ways[chosen, observed]) / total)


@njit
def normal_quantile(p: float) -> float:
    """Return the z below which a standard normal variable is with probability p, 0 < p < 1.

    A rational approximation is refined by Halley's method, to nearly double precision.
    """
    if p > 0.5:
        return -normal_quantile_of_lower_half(1.0 - p)
    return normal_quantile_of_lower_half(p)


@njit
def normal_quantile_of_lower_half(p: float) -> float:
    """Return the quantile of a p of at most 1/2."""
    if p == 0.5:
        return 0.0
    t = math.sqrt(-2.0 * math.log(p))
    fraction = (_C0 + t * (_C1 + t * _C2)) / (1.0 + t * (_D1 + t * (_D2 + t * _D3)))
    z = fraction - t
    for _ in range(_STEPS):
        error = 0.5 * math.erfc(-z / _SQRT_2) - p
        step = error * _SQRT_2_PI * math.exp(0.5 * z * z)
        z -= step / (1.0 + 0.5 * z * step)
    return z


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
    before, after = _clipped_bases(reads, records)
    alignments = _Alignments(
        read_only(reads.starts), view_of(reads.cigars), view_of(reads.qualities), before, after
    )
    qualities, distances = np.empty((2, rows.size), dtype=np.int64)
    places = read_only(rows), read_only(starts), read_only(ends)
    _measure(alignments, places, qualities, distances)
    return qualities, distances


def _clipped_bases(
    reads: RegionReads, records: ReadBatch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return int64[m] each: bases of the whole read before and after those of `reads`."""
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
