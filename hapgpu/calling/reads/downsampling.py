"""Deterministic choice of some reads where very many start at one position."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import hash_of
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.runtime.jit import njit

MAX_SPAN: Final = 1000
"""Reads that span more bases of the reference are always kept: the choice among the others is the
same for all windows that hold so many bases before a position."""

CROWD_POSITIONS: Final = 100
"""Positions, from a multiple of it on, whose starting reads are limited together."""

MAX_CROWD: Final = 10_000
"""Reads of a sample that start at such positions, at most: a depth of 10,000 with 100 bases. GATK 3
has this limit for an active region."""

_FACTORS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


def downsampled(
    reads: ReadBatch, samples: NDArray[np.int32], max_reads_per_start: int
) -> NDArray[np.bool_]:
    """Return bool[n]: which reads are kept.

    Of the reads of a sample that start at one position and span at most `MAX_SPAN` bases, those
    with the smallest hashes of the name are kept. The choice does not depend on the order of the
    reads, except for records that are equal in name, flags and mapping quality. Mates have the same
    hash, so that pairs often stay together.

    Parameters
    ----------
    reads
        n reads of one contig, sorted by position.
    samples
        int32[n].
    max_reads_per_start
        Reads kept at each position, at most; 0 keeps all.
    """
    kept = np.ones(len(reads), dtype=np.bool_)
    if max_reads_per_start == 0 or len(reads) <= max_reads_per_start:
        return kept
    rows = np.arange(len(reads))
    kept[_excess(reads, samples, rows, reads.positions, max_reads_per_start)] = False
    return kept


def may_crowd(max_reads_per_start: int) -> bool:
    """Return whether `in_crowds` may find reads, given the limit of each position."""
    return max_reads_per_start == 0 or max_reads_per_start * CROWD_POSITIONS > MAX_CROWD


def in_crowds(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    kept: NDArray[np.bool_],
    max_reads_per_start: int,
) -> NDArray[np.int64]:
    """Return the rows of the reads that `MAX_CROWD` excludes, of those that `downsampled` keeps.

    Of the kept reads of a sample that start at `CROWD_POSITIONS` and span at most `MAX_SPAN` bases,
    all but those with the smallest hashes of the name are excluded. So memory is bounded for any
    `max_reads_per_start`.

    Parameters
    ----------
    reads, samples, max_reads_per_start
        As in `downsampled`.
    kept
        Its result.
    """
    if not may_crowd(max_reads_per_start) or len(reads) <= MAX_CROWD:
        return np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(kept)
    return _excess(reads, samples, rows, reads.positions[rows] // CROWD_POSITIONS, MAX_CROWD)


def _excess(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    rows: NDArray[np.int64],
    places: NDArray[np.int32],
    limit: int,
) -> NDArray[np.int64]:
    """Return which of some rows, with ascending places, exceed a limit per place and sample."""
    crowds = _in_crowds(places, limit)
    rows, places = rows[crowds], places[crowds]
    is_short = reference_lengths(reads.cigars.take(rows)) <= MAX_SPAN
    rows, places = rows[is_short], places[is_short]
    hashes = np.empty(rows.size, dtype=np.uint64)
    _hash_names(view_of(reads.names), rows, hashes)
    ties = reads.mapping_qualities[rows], reads.flags[rows], reads.positions[rows]
    order = np.lexsort((*ties, hashes, samples[rows], places))
    rows, places = rows[order], places[order]
    is_first = _changes(places) | _changes(samples[rows])
    firsts = np.flatnonzero(is_first)
    ranks = np.arange(rows.size) - firsts[np.cumsum(is_first) - 1]
    excess: NDArray[np.int64] = rows[ranks >= limit]
    return excess


def _in_crowds(places: NDArray[np.int32], limit: int) -> NDArray[np.int64]:
    """Return the rows of the reads that share their place with at least `limit` others."""
    firsts = np.flatnonzero(_changes(places))
    counts = np.diff(firsts, append=places.size)
    return np.flatnonzero(np.repeat(counts > limit, counts))


def _changes(values: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return bool[n]: which values differ from the one before; the first does."""
    changes = np.ones(values.size, dtype=np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return changes


@njit
def _hash_names(names: RaggedView, rows: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
    """Write a hash of each name whose order is independent of the text (SplitMix64 of FNV-1a)."""
    for k in range(rows.size):
        row = rows[k]
        value = np.uint64(hash_of(names.data, names.offsets[row], names.offsets[row + 1]))
        value = (value ^ value >> _30) * _FACTORS[0]
        value = (value ^ value >> _27) * _FACTORS[1]
        hashes[k] = value ^ value >> _31
