"""Junctions of split reads: where a clipped end of a read continues elsewhere on the reference.

Aligners clip the reads at both ends of a deletion or tandem duplication that is too long for them.
GATK's rules see two places, each with its own active region, or with none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.calling.batches import MAX_JUNCTION, PADDING, ActiveRegions, SegmentReads
from hapgpu.cigar.encoding import HARD_CLIP, SOFT_CLIP
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

_MIN_JUNCTION: Final = 20
"""Bases between both ends of a junction, at least; aligners place shorter indels."""
_MIN_READS: Final = 2
_NEVER: Final = np.iinfo(np.int64).max
_MAX_SHIFT: Final = 50
"""Reads of one junction are clipped at positions at most so far apart: bases repeat at its ends."""
_SEED: Final = 8
_MIN_SCORE: Final = 16
_MIN_LEAD: Final = 4
"""By how much the best score has to be above the next one."""
_MISMATCH: Final = -3
"""The score of a base that differs; one that agrees has 1."""


@dataclass(frozen=True, slots=True)
class Junctions:
    """j junctions that at least two reads of a segment have.

    Attributes
    ----------
    starts, ends
        int64[j], 0-based, half-open: the bases that are deleted or duplicated.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def are_in(self, regions: ActiveRegions) -> NDArray[np.bool_]:
        """Return bool[r]: whether the padded span of an active region holds a junction."""
        order = np.argsort(self.starts, kind="stable")
        starts, ends = self.starts[order], self.ends[order]
        first_ends = np.minimum.accumulate(np.append(ends, _NEVER)[::-1])[::-1]
        found: NDArray[np.bool_] = (
            first_ends[np.searchsorted(starts, regions.padded_starts)] <= regions.padded_ends
        )
        return found


NO_JUNCTIONS: Final = Junctions(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def junctions_of(segment: SegmentReads, min_base_quality: int) -> Junctions:
    """Find the junctions of the reads of a segment; its clips continue within `MAX_JUNCTION` bases.

    The clipped bases of a read are compared with the reference, without gaps. The best position
    counts if at least 16 bases more agree than three times those that differ, and 4 fewer at any
    other position.

    Parameters
    ----------
    segment
        Reads of the segment: with the bases, qualities and CIGARs of their records.
    min_base_quality
        Bases of lower quality at the end of a read are not compared.
    """
    reads = ReadColumns.from_batch(segment.reads)
    found = np.empty((2 * len(segment.reads), 2), dtype=np.int64)
    bases = read_only(segment.reference.bases)
    reference = _Reference(segment.reference.start, bases, np.empty(bases.size, np.uint16))
    clips = found[: _find(reads, reference, min_base_quality, found)]
    return _shared(clips[:, 0], clips[:, 1])


def _shared(lefts: NDArray[np.int64], jumps: NDArray[np.int64]) -> Junctions:
    """Join the junctions of single reads: left ends, and right ends less left ends."""
    if not lefts.size:
        return NO_JUNCTIONS
    order = np.lexsort((lefts, jumps))
    lefts, jumps = lefts[order], jumps[order]
    is_next = (np.diff(lefts) > _MAX_SHIFT) | (np.diff(jumps) != 0)
    firsts = np.concatenate(([0], np.flatnonzero(is_next) + 1))
    rights = lefts + jumps
    starts = np.minimum.reduceat(np.minimum(lefts, rights), firsts)
    ends = np.maximum.reduceat(np.maximum(lefts, rights), firsts)
    is_kept = np.diff(np.append(firsts, lefts.size)) >= _MIN_READS
    return Junctions(starts[is_kept], ends[is_kept])


def widened_to(
    junctions: Junctions, regions: ActiveRegions, segment: SegmentReads
) -> ActiveRegions:
    """Widen the padded spans of active regions: an end of a junction needs the other one.

    Where an end of a junction is in the active span, the padded span holds the junction and
    `PADDING` bases on both sides, within `MAX_JUNCTION` of the active span.
    """
    padded_starts, padded_ends = regions.padded_starts.copy(), regions.padded_ends.copy()
    spans = read_only(regions.starts), read_only(regions.ends)
    ends_of_junctions = read_only(junctions.starts), read_only(junctions.ends)
    _widen(*spans, *ends_of_junctions, padded_starts, padded_ends)
    return ActiveRegions(
        regions.starts,
        regions.ends,
        np.maximum(padded_starts, 0),
        np.minimum(padded_ends, segment.segment.contig_length),
    )


class _Reference(NamedTuple):
    """Bases of a contig from a position on, and the seed at each: 2 bits a base."""

    start: int
    bases: NDArray[np.uint8]
    seeds: NDArray[np.uint16]


@njit
def _widen(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    junction_starts: NDArray[np.int64],
    junction_ends: NDArray[np.int64],
    padded_starts: NDArray[np.int64],
    padded_ends: NDArray[np.int64],
) -> None:
    for region in range(starts.size):
        start, end = starts[region], ends[region]
        for row in range(junction_starts.size):
            low, high = junction_starts[row], junction_ends[row]
            if start <= low <= end or start <= high <= end:
                low, high = max(low, start - MAX_JUNCTION), min(high, end + MAX_JUNCTION)
                padded_starts[region] = min(padded_starts[region], low - PADDING)
                padded_ends[region] = max(padded_ends[region], high + PADDING)


@njit
def _find(
    reads: ReadColumns, reference: _Reference, min_quality: Integer, found: NDArray[np.int64]
) -> Integer:
    """Write left end and jump of the junction of each clipped end that has one; return how many."""
    _number_seeds(reference)
    count = 0
    for row in range(reads.flags.size):
        first, last = reads.cigar_offsets[row], reads.cigar_offsets[row + 1] - 1
        while first < last and (reads.cigars[first] & 15) == HARD_CLIP:
            first += 1
        while last > first and (reads.cigars[last] & 15) == HARD_CLIP:
            last -= 1
        if first == last:
            continue
        before = count
        if (reads.cigars[first] & 15) == SOFT_CLIP:
            clipped = np.int64(reads.cigars[first] >> 4)
            count += _put_left(reads, row, clipped, reference, min_quality, found[count])
        if (reads.cigars[last] & 15) == SOFT_CLIP:
            clipped = np.int64(reads.cigars[last] >> 4)
            count += _put_right(reads, row, clipped, reference, min_quality, found[count])
        if count == before + 2 and found[before, 1] == found[before + 1, 1]:
            count -= 1  # a read counts once
    return count


@njit
def _put_left(
    reads: ReadColumns,
    row: Integer,
    clipped: Integer,
    reference: _Reference,
    min_quality: Integer,
    found: NDArray[np.int64],
) -> int:
    """Write the junction of the clipped start of a read; return 1 if it has one, else 0."""
    low = np.int64(reads.base_offsets[row])
    high = low + clipped
    while low < high and reads.qualities[low] < min_quality:
        low += 1
    at = np.int64(reads.positions[row])
    jump = _jump(reads.bases, low, high, reference, at - (high - low))
    found[0], found[1] = at + jump, -jump
    return int(jump != 0)


@njit
def _put_right(
    reads: ReadColumns,
    row: Integer,
    clipped: Integer,
    reference: _Reference,
    min_quality: Integer,
    found: NDArray[np.int64],
) -> int:
    """Write the junction of the clipped end of a read; return 1 if it has one, else 0."""
    high = np.int64(reads.base_offsets[row + 1])
    low = high - clipped
    while low < high and reads.qualities[high - 1] < min_quality:
        high -= 1
    at = _end_of(reads, row)
    jump = _jump(reads.bases, low, high, reference, at)
    found[0], found[1] = at, jump
    return int(jump != 0)


@njit_inlined
def _end_of(reads: ReadColumns, row: Integer) -> Integer:
    """Return the end of the alignment of a read."""
    end: Integer = np.int64(reads.positions[row])
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        if REFERENCE_OPERATIONS >> (reads.cigars[k] & 15) & 1:
            end += np.int64(reads.cigars[k] >> 4)
    return end


@njit
def _number_seeds(reference: _Reference) -> None:
    """Write the seed at each position of the reference."""
    seed = np.int64(0)
    for at in range(reference.bases.size):
        seed = ((seed << 2) | ((reference.bases[at] >> 1) & 3)) & 0xFFFF
        if at >= _SEED - 1:
            reference.seeds[at - _SEED + 1] = seed


@njit_inlined
def _seed_at(bases: NDArray[np.uint8], at: Integer) -> Integer:
    """Return the seed of the bases from an offset on."""
    seed = np.int64(0)
    for k in range(_SEED):
        seed = (seed << 2) | ((np.int64(bases[at + k]) >> 1) & 3)
    return seed


@njit
def _jump(
    bases: NDArray[np.uint8], low: Integer, high: Integer, reference: _Reference, at: Integer
) -> Integer:
    """Return by how much bases[low:high] have to move to fit the reference; 0 if they fit nowhere.

    `at` is the position of the first of them without a junction. Positions at which neither the
    first nor the last 8 bases agree are not considered.
    """
    length = high - low
    if length < _MIN_SCORE:
        return np.int64(0)
    seed_before, seed_after = _seed_at(bases, low), _seed_at(bases, high - _SEED)
    first = max(at - MAX_JUNCTION - reference.start, 0)
    end = min(at + MAX_JUNCTION + 1 - reference.start, reference.bases.size - length + 1)
    best, next_best = np.int64(0), np.int64(0)
    jump: Integer = np.int64(0)
    for offset in range(first, end):
        if (
            reference.seeds[offset] != seed_before
            and reference.seeds[offset + length - _SEED] != seed_after
        ):
            continue
        moved = offset + reference.start - at
        if abs(moved) < _MIN_JUNCTION:
            continue
        score = np.int64(_best_score(bases, low, length, reference.bases, offset))
        if score > best:
            best, next_best, jump = score, best, moved
        else:
            next_best = max(next_best, score)
    is_clear = best >= _MIN_SCORE and best >= next_best + _MIN_LEAD
    return jump if is_clear else np.int64(0)


@njit_inlined
def _best_score(
    bases: NDArray[np.uint8],
    low: Integer,
    length: Integer,
    reference: NDArray[np.uint8],
    offset: Integer,
) -> Integer:
    """Return the best score of consecutive bases at an offset of the reference."""
    best, score = np.int64(0), np.int64(0)
    for k in range(length):
        score += 1 if bases[low + k] == reference[offset + k] else _MISMATCH
        score = max(score, np.int64(0))
        best = max(best, score)
    return best
