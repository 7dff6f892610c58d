"""Base qualities where the mates of a fragment overlap, as in GATK's FragmentUtils."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import RegionReads
from hapgpu.calling.reads.clipping import bases_before
from hapgpu.calling.reads.fragments import has_mapped_mate
from hapgpu.runtime.jit import njit

_MAX_QUALITY: Final = 20
"""Of equal bases of both mates: half of the Phred quality of an error in PCR, 40."""

_NOWHERE: Final = np.iinfo(np.int32).max


def lower_overlaps(reads: RegionReads, records: ReadBatch, fragments: NDArray[np.int64]) -> None:
    """Lower the qualities of bases that two reads of one fragment share, in place.

    Of each name, the second read of an active region pairs with the first, if the mates may
    overlap. Bases are compared one by one from the start of the overlap, whatever the indels. Equal
    bases get at most 20; others get 0.

    Parameters
    ----------
    reads
        m reads, in GATK's order.
    records
        The reads of the segment.
    fragments
        int64: a number for each name and sample, for each record.
    """
    mate_positions = np.where(has_mapped_mate(records), records.mate_positions, _NOWHERE)
    columns = _Columns(
        read_only(reads.offsets),
        read_only(reads.starts),
        read_only(reads.ends),
        read_only(fragments[reads.rows]),
        read_only(mate_positions[reads.rows]),
        read_only(records.bases.offsets[reads.rows] + reads.base_starts),
        read_only(reads.qualities.offsets),
    )
    pending = np.full(int(fragments.max(initial=0)) + 1, -1, dtype=np.int64)
    bases = read_only(records.bases.data)
    _lower(view_of(reads.cigars), columns, bases, pending, reads.qualities.data)


class _Columns(NamedTuple):
    """Columns of the m reads; `bases` and `qualities` are offsets of their first base."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fragments: NDArray[np.int64]
    mate_positions: NDArray[np.int32]
    bases: NDArray[np.int64]
    qualities: NDArray[np.int64]


@njit
def _lower(
    cigars: RaggedView,
    reads: _Columns,
    bases: NDArray[np.uint8],
    pending: NDArray[np.int64],
    qualities: NDArray[np.uint8],
) -> None:
    """Find the pairs of all active regions, and lower their qualities.

    `pending` has the last read of each fragment that waits for its mate; -1 for none.
    """
    for region in range(reads.offsets.size - 1):
        for row in range(reads.offsets[region], reads.offsets[region + 1]):
            if reads.mate_positions[row] < reads.ends[row]:
                fragment = reads.fragments[row]
                other = pending[fragment]
                # A read of an earlier active region waits for nothing.
                if other < reads.offsets[region]:
                    pending[fragment] = row
                else:
                    pending[fragment] = -1
                    if reads.starts[other] < reads.starts[row]:
                        _lower_pair(cigars, reads, other, row, bases, qualities)
                    else:
                        _lower_pair(cigars, reads, row, other, bases, qualities)


@njit
def _lower_pair(
    cigars: RaggedView,
    reads: _Columns,
    one: Integer,
    other: Integer,
    bases: NDArray[np.uint8],
    qualities: NDArray[np.uint8],
) -> None:
    """Lower the qualities of two reads; `one` does not start after the other."""
    start, one_start = reads.starts[other], reads.starts[one]
    one_end, other_end = reads.ends[one], reads.ends[other]
    if one_end <= start:
        return
    one_first = bases_before(cigars, one, one_start, start, 0)
    other_first = bases_before(cigars, other, start, start, 0)
    one_count = bases_before(cigars, one, one_start, one_end - 1, 1) - one_first
    other_count = bases_before(cigars, other, start, other_end - 1, 1) - other_first
    for k in range(min(one_count, other_count)):
        here, there = reads.qualities[one] + one_first, reads.qualities[other] + other_first
        is_equal = (
            bases[reads.bases[one] + one_first + k] == (bases[reads.bases[other] + other_first + k])
        )
        limit = np.uint8(_MAX_QUALITY if is_equal else 0)
        qualities[here + k] = min(qualities[here + k], limit)
        qualities[there + k] = min(qualities[there + k], limit)
