"""Soft and hard clips of reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import HARD_CLIP, SOFT_CLIP, length_of, operation_of
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.text.columns import side_by_side
from hapgpu.runtime.jit import njit


@dataclass(frozen=True, slots=True)
class Clips:
    """Soft- and hard-clipped bases at both ends of n reads; int32[n] each."""

    leading: NDArray[np.int32]
    trailing: NDArray[np.int32]
    leading_hard: NDArray[np.int32]
    trailing_hard: NDArray[np.int32]

    def take(self, rows: NDArray[np.bool_]) -> Clips:
        """Select reads by a mask, `rows`, bool[n]."""
        return Clips(
            self.leading[rows],
            self.trailing[rows],
            self.leading_hard[rows],
            self.trailing_hard[rows],
        )


def clips_of(reads: ReadBatch, source: str) -> Clips:
    """Return the clips of mapped reads with bases, by CIGAR; 0 for other reads.

    Raises
    ------
    InputError
        A read has fewer bases than its CIGAR clips.
    """
    is_counted = (reads.flags & UNMAPPED == 0) & (reads.bases.lengths > 0)
    clips = Clips(*(np.zeros(len(reads), dtype=np.int32) for _ in range(4)))
    _measure_clips(
        view_of(reads.cigars),
        is_counted,
        (clips.leading, clips.trailing),
        (clips.leading_hard, clips.trailing_hard),
    )
    too_long = np.flatnonzero(clips.leading + clips.trailing > reads.bases.lengths)
    if too_long.size:
        raise too_many_clips(source, reads.names[too_long[0]])
    return clips


def too_many_clips(source: str, name: NDArray[np.uint8]) -> InputError:
    """Return the error for a read of this `name`, uint8 text: its CIGAR clips more bases."""
    text = name.tobytes().decode("ascii", errors="replace")
    return InputError(
        f"{source}, read '{text}': fewer bases than its CIGAR clips; correct or remove it"
    )


def with_hard_clips(
    cigars: Ragged, leading: NDArray[np.int32], trailing: NDArray[np.int32]
) -> Ragged:
    """Add hard clips to CIGARs; an empty CIGAR stays empty.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    leading, trailing
        int32[n]: bases to clip, 0 for none.

    Returns
    -------
    Ragged
        uint32 in BAM encoding, n rows; `cigars` itself if there is nothing to clip.
    """
    if not (leading.any() or trailing.any()):
        return cigars
    has_cigar = cigars.lengths > 0
    first, last = (np.where(has_cigar, clip, 0).astype(np.uint32) for clip in (leading, trailing))
    columns = [
        Ragged.from_lengths(first[first > 0] << 4 | HARD_CLIP, first > 0),
        cigars,
        Ragged.from_lengths(last[last > 0] << 4 | HARD_CLIP, last > 0),
    ]
    joined = side_by_side(
        [Ragged(column.data.view(np.uint8), column.offsets * 4) for column in columns]
    )
    return Ragged(joined.data.view(np.uint32), joined.offsets // 4)


@njit
def _measure_clips(
    cigars: RaggedView,
    is_counted: NDArray[np.bool_],
    soft: tuple[NDArray[np.int32], NDArray[np.int32]],
    hard: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> None:
    """Set the hard and soft clips, int32[n] at the start and at the end, of the counted reads."""
    for row in range(is_counted.size):
        cigar = row_of(cigars, row)
        if not is_counted[row]:
            continue
        first, last = 0, cigar.size - 1
        while first <= last and operation_of(cigar[first]) == HARD_CLIP:
            hard[0][row] += length_of(cigar[first])
            first += 1
        while last > first and operation_of(cigar[last]) == HARD_CLIP:
            hard[1][row] += length_of(cigar[last])
            last -= 1
        if first <= last and operation_of(cigar[first]) == SOFT_CLIP:
            soft[0][row] = length_of(cigar[first])
        if last > first and operation_of(cigar[last]) == SOFT_CLIP:
            soft[1][row] = length_of(cigar[last])
