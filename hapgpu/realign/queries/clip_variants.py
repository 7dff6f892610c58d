"""Variants of reads with and without their soft-clipped ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.cigar.clips import Clips


@dataclass(frozen=True, slots=True)
class ClipVariants:
    """v variants of n reads, read by read, the variant with the fewest bases first.

    Attributes
    ----------
    offsets
        int64[n + 1]: the variants of read i are rows `offsets[i]` to `offsets[i + 1]`.
    leading, trailing
        int32[v]: soft-clipped bases that stay clipped.
    bases
        uint8 text, v rows: the bases that are not clipped.
    """

    offsets: NDArray[np.int64]
    leading: NDArray[np.int32]
    trailing: NDArray[np.int32]
    bases: Ragged

    @classmethod
    def whole(cls, bases: Ragged) -> Self:
        """Return one variant per read, with all clipped bases."""
        none = np.zeros(len(bases), dtype=np.int32)
        return cls(np.arange(len(bases) + 1), none, none, bases)

    @classmethod
    def of(cls, bases: Ragged, clips: Clips) -> Self:
        """Return all variants: each clipped end of each read with and without its bases."""
        ends = 1 + np.stack([clips.leading > 0, clips.trailing > 0])
        counts = ends.prod(axis=0)
        offsets = offsets_of(counts)
        read = np.repeat(np.arange(counts.size), counts)
        number = counts[read] - 1 - (np.arange(read.size) - offsets[read])
        # Of four variants, 0 is without clips, 1 keeps the end clipped, 2 the start, 3 both.
        has_trailing = ends[1][read] > 1
        keeps_trailing = has_trailing & (number & 1 > 0)
        keeps_leading = np.where(has_trailing, number >> 1, number) > 0
        leading = np.where(keeps_leading, clips.leading[read], 0).astype(np.int32)
        trailing = np.where(keeps_trailing, clips.trailing[read], 0).astype(np.int32)
        starts = bases.offsets[:-1][read] + leading
        lengths = bases.lengths[read] - leading - trailing
        # A read with all bases clipped has no variant that keeps all clips.
        has_bases = lengths > 0
        return cls(
            offsets_of(np.bincount(read[has_bases], minlength=counts.size)),
            leading[has_bases],
            trailing[has_bases],
            Ragged.gather(bases.data, starts[has_bases], lengths[has_bases]),
        )

    def __len__(self) -> int:
        return self.leading.size
