"""GATK's order of reads that start at one position, and reads of one name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.calling.reads.clipping import ClippedAlignments
from hapgpu.calling.reads.fragments import REVERSE, has_mapped_mate
from hapgpu.runtime.jit import njit

_WORD = 8


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """Order and names of some of n reads.

    Attributes
    ----------
    ranks
        int64[n]: the rank of each read among reads with one start, all different; 0 for reads that
        were not asked for.
    fragments
        int64[n]: a number for each name and sample; 0 for reads that were not asked for.
    """

    ranks: NDArray[np.int64]
    fragments: NDArray[np.int64]


def order_of(reads: ReadBatch, samples: NDArray[np.int32], rows: NDArray[np.int64]) -> ReadOrder:
    """Order reads as GATK's ReadCoordinateComparator does at one position.

    Forward before reverse reads, then by name (bytes), flags, MAPQ, mate and template length.
    Records that are equal keep their order.

    Parameters
    ----------
    reads, samples
        n reads.
    rows
        int64[r]: the reads to order, in any order, perhaps several times.
    """
    is_asked = np.zeros(len(reads), dtype=np.bool_)
    is_asked[rows] = True
    rows = np.flatnonzero(is_asked)
    names = _words_of(reads.names.take(rows))
    flags = reads.flags[rows]
    has_mate = has_mapped_mate(reads)[rows]
    # From the last to the first key; reads of equal flags are all paired, or none is.
    keys = [
        reads.template_lengths[rows],
        np.where(has_mate, reads.mate_positions[rows], -1),
        np.where(has_mate, reads.mate_reference_ids[rows], -1),
        reads.mapping_qualities[rows],
        flags,
    ]
    is_reverse = flags & REVERSE
    order = np.lexsort([*keys, *names[::-1], is_reverse])
    ranks = np.zeros(len(reads), dtype=np.int64)
    ranks[rows[order]] = np.arange(rows.size)
    return ReadOrder(ranks, _fragments(names, samples[rows], rows, len(reads)))


def sorted_rows(
    clipped: ClippedAlignments,
    owners: NDArray[np.int64],
    ranks: NDArray[np.int64],
    min_bases: int,
) -> NDArray[np.int64]:
    """Return the alignments with at least `min_bases` bases, by active region, start and rank.

    Parameters
    ----------
    clipped
        p alignments.
    owners, ranks
        int64[p]: the active region of each, and the rank of its read.
    min_bases
        At least 1.
    """
    kept = np.flatnonzero(clipped.lengths >= min_bases)
    order = np.lexsort((ranks[kept], clipped.starts[kept], owners[kept]))
    sorted_: NDArray[np.int64] = kept[order]
    return sorted_


def _fragments(
    names: list[NDArray[np.uint64]],
    samples: NDArray[np.int32],
    rows: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return int64[count]: a number for each name and sample; 0 for other rows."""
    keys: list[NDArray[Any]] = [samples, *names]
    order = np.lexsort(keys)
    is_new = np.zeros(rows.size, dtype=np.bool_)
    for key in keys:
        sorted_key = key[order]
        is_new[1:] |= sorted_key[1:] != sorted_key[:-1]
    fragments = np.zeros(count, dtype=np.int64)
    fragments[rows[order]] = np.cumsum(is_new)
    return fragments


def _words_of(names: Ragged) -> list[NDArray[np.uint64]]:
    """Return names as columns of big-endian words, whose order is that of the bytes.

    Words that are the same in all names, as the names of instruments are, are left out.
    """
    lengths = names.lengths
    width = int(lengths.max(initial=0)) // _WORD + 1
    words = np.zeros((width, len(names)), dtype=np.uint64)
    _pack(view_of(names), words)
    return [column for column in words if column.size and (column != column[0]).any()]


@njit
def _pack(names: RaggedView, words: NDArray[np.uint64]) -> None:
    """Write names as words, followed by zeros."""
    for row in range(words.shape[1]):
        start = names.offsets[row]
        for k in range(names.offsets[row + 1] - start):
            shift = np.uint64(56 - 8 * (k & 7))
            words[k >> 3, row] |= np.uint64(names.data[start + k]) << shift
