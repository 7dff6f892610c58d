"""Read filters that are off by default: masks of batches of reads, paid only if one is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.calling.reads.clipping import has_mapped_mate
from hapgpu.calling.reads.group_masks import GroupMask
from hapgpu.io.bam.constants import QUERY_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit

_SECONDARY, _SUPPLEMENTARY = 0x100, 0x800
_PROPERLY_PAIRED: Final = 0x1 | 0x2

Mask = Callable[[ReadBatch, ReadOptions], NDArray[np.bool_]]


def _same_contig(reads: ReadBatch, _options: ReadOptions) -> NDArray[np.bool_]:
    kept: NDArray[np.bool_] = reads.mate_reference_ids == reads.reference_ids
    return kept | ~has_mapped_mate(reads)


def _of_length(reads: ReadBatch, options: ReadOptions) -> NDArray[np.bool_]:
    lengths = reads.bases.lengths
    kept: NDArray[np.bool_] = (lengths >= options.min_length) & (lengths <= options.max_length)
    return kept


def _not_overclipped(reads: ReadBatch, options: ReadOptions) -> NDArray[np.bool_]:
    kept = np.empty(len(reads), dtype=np.bool_)
    _mark(view_of(reads.cigars), options.min_aligned_bases, options.soft_clips, kept)
    return kept


@njit
def _mark(cigars: RaggedView, min_aligned: int, soft_clips: int, kept: NDArray[np.bool_]) -> None:
    """Write which reads have enough aligned bases, or few soft clips; adjacent clips are one."""
    for row in range(kept.size):
        aligned, clips, previous = np.int64(0), np.int64(0), np.int64(-1)
        for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
            length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
            if operation == SOFT_CLIP:
                if previous != SOFT_CLIP:
                    clips += 1
            elif QUERY_OPERATIONS >> operation & 1:
                aligned += length
            previous = operation
        kept[row] = aligned >= min_aligned or clips < soft_clips


_MASKS: Final[Mapping[MoreFilter, Mask]] = {
    MoreFilter.NOT_SUPPLEMENTARY: lambda reads, _: reads.has_flags(0, _SUPPLEMENTARY),
    MoreFilter.PROPERLY_PAIRED: lambda reads, _: reads.has_flags(_PROPERLY_PAIRED, 0),
    MoreFilter.PRIMARY_LINE: lambda reads, _: reads.has_flags(0, _SECONDARY | _SUPPLEMENTARY),
    MoreFilter.NOT_ZERO: lambda reads, _: reads.mapping_qualities > 0,
    MoreFilter.SAME_CONTIG: _same_contig,
    MoreFilter.LENGTH: _of_length,
    MoreFilter.OVERCLIPPED: _not_overclipped,
}


def mask_of(
    name: MoreFilter,
    reads: ReadBatch,
    options: ReadOptions,
    groups: Mapping[MoreFilter, GroupMask],
) -> NDArray[np.bool_]:
    """Return bool[n]: which reads a filter keeps.

    Parameters
    ----------
    name
        The filter.
    reads
        n reads that the default filters keep, or others.
    options
        Arguments of the filter.
    groups
        Masks of the filters by read group, for the input of the reads.
    """
    if name in groups:
        return groups[name].keeps(reads)
    return _MASKS[name](reads, options)
