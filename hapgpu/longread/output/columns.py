"""Mappings of blocks of reads as tables of rows: the same rows, in the same order, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.batches import MAPPING
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.mappings.quality import assess
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.output.aligned_parts import line_rows
from hapgpu.longread.output.paf import reported_mapping_rows
from hapgpu.longread.output.rows import AlignedBlock, LineTargets
from hapgpu.longread.output.tags import divergence, edit_distance
from hapgpu.runtime.jit import njit

_NO_OPERATIONS = Ragged(np.empty(0, dtype=np.uint32), np.zeros(1, dtype=np.int64))


class MappingTable(NamedTuple):
    """Written mappings of n successive reads.

    Attributes
    ----------
    mappings
        `MAPPING`[m]; `read` is counted within these reads.
    divergences
        float64[m]: tag dv or, of a base alignment, de; NaN if the mapping has none.
    edit_distances
        int32[m]: tag NM; -1 without base alignment.
    operations
        uint32 rows: CIGAR of each mapping; no rows if bases are not aligned.
    repeat_lengths
        int32[n]: tag rl.
    """

    mappings: NDArray[np.void]
    divergences: NDArray[np.float64]
    edit_distances: NDArray[np.int32]
    operations: Ragged
    repeat_lengths: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[MappingTable]) -> MappingTable:
        """Return the mappings of all reads, part by part; there may be no part."""
        parts = [_NO_READS, *parts]
        mappings = np.concatenate([part.mappings for part in parts])
        reads = np.array([part.repeat_lengths.size for part in parts])
        firsts = np.repeat(np.cumsum(reads) - reads, [part.mappings.size for part in parts])
        mappings["read"] += firsts.astype(np.int32)
        return cls(
            mappings,
            np.concatenate([part.divergences for part in parts]),
            np.concatenate([part.edit_distances for part in parts]),
            Ragged.concatenate([part.operations for part in parts]),
            np.concatenate([part.repeat_lengths for part in parts]),
        )


_NO_READS = MappingTable(
    np.empty(0, dtype=MAPPING),
    np.empty(0),
    np.empty(0, dtype=np.int32),
    _NO_OPERATIONS,
    np.empty(0, dtype=np.int32),
)


def chained_table(options: LongReadOptions, reads: NamedReads, mappings: Mappings) -> MappingTable:
    """Return the mappings of a block of reads that `PafWriter` would write; shares no memory.

    Parameters
    ----------
    options
        Options of the user.
    reads, mappings
        As for `PafWriter`.
    """
    reported = assess(mappings, options.chains.min_score)
    rows = reported_mapping_rows(reported)
    rows["read"] = np.repeat(np.arange(len(reads)), np.diff(reported.offsets))
    written = _written(rows, options)
    return MappingTable(
        rows[written],
        reported.divergences[written].astype(np.float64),
        np.full(written.size, -1, dtype=np.int32),
        _NO_OPERATIONS,
        mappings.repeat_lengths.copy(),
    )


def aligned_table(
    options: LongReadOptions, targets: LineTargets, block: AlignedBlock, *, splits_matches: bool
) -> MappingTable:
    """Return the aligned mappings of a block of reads that `AlignmentWriter` would write.

    Parameters
    ----------
    options
        Options of the user.
    targets
        Reference sequences.
    block
        The reads with their mappings.
    splits_matches
        Whether CIGARs have = and X, not M.
    """
    lines = line_rows(block, targets, has_comments=False, splits_matches=splits_matches)
    mappings = lines.mappings[_written(lines.mappings, options)]
    divergences = np.empty(mappings.size)
    edit_distances = np.empty(mappings.size, dtype=np.int32)
    _measure(read_only(mappings), divergences, edit_distances)
    operations = Ragged.gather(
        lines.operations, mappings["first_operation"], mappings["operations"].astype(np.int64)
    )
    return MappingTable(mappings, divergences, edit_distances, operations, block.repeat_lengths)


def _written(mappings: NDArray[np.void], options: LongReadOptions) -> NDArray[np.int64]:
    """Return the rows of the mappings that are written."""
    is_written = mappings["number"] == mappings["parent"]
    return np.flatnonzero(is_written | options.mappings.prints_secondary)


@njit
def _measure(
    mappings: NDArray[np.void],
    divergences: NDArray[np.float64],
    edit_distances: NDArray[np.int32],
) -> None:
    for row in range(mappings.size):
        mapping = mappings[row]
        divergences[row], edit_distances[row] = np.nan, -1
        if mapping.operations:
            divergences[row], edit_distances[row] = divergence(mapping), edit_distance(mapping)
