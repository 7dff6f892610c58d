"""New alignments of records in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hapgpu.arrays.cuda import DeviceRagged


@dataclass(frozen=True, slots=True)
class DeviceNewAlignments:
    """New alignments of m records, each of a record of `DeviceRecords`; all on one GPU.

    The columns are those of `NewAlignments`; masks are arrays of bool, one byte per record.

    Attributes
    ----------
    rows
        int64[m]: the row of the record that each alignment replaces, never decreasing. A row may
        repeat (secondary alignments) or be missing (records that are excluded).
    mapped
        bool[m]; the columns of the alignment are valid only where it is set.
    kept
        bool[m]: records that do not change, except their mate fields.
    reference_ids, positions
        int32[m], 0-based.
    cigars
        uint32 in BAM encoding, m rows; empty rows where records are not mapped.
    is_reversed
        bool[m]: whether the stored read was reversed for its alignment.
    is_secondary
        bool[m]: whether another record of the same read is better.
    scores, second_scores
        int32[m], for AS and XS.
    has_second_score
        bool[m].
    edit_distances, mismatches
        int32[m] and uint8 text, for NM and MD.
    """

    rows: Any
    mapped: Any
    kept: Any
    reference_ids: Any
    positions: Any
    cigars: DeviceRagged
    is_reversed: Any
    is_secondary: Any
    scores: Any
    second_scores: Any
    has_second_score: Any
    edit_distances: Any
    mismatches: DeviceRagged

    def __len__(self) -> int:
        return int(self.rows.size)
