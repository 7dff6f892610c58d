"""Reads that occur in their haplotypes: GATK aligns them there, without the recurrences.

Most reads do. To find this takes far fewer steps than an alignment.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit, njit_inlined

_SCORING: Final = PRESETS["read-to-haplotype"]
_LENGTH_SHIFT: Final = 4  # of a CIGAR element; the operation M is 0


def aligned_to_haplotypes(pairs: PairBatch, device: Device) -> AlignmentBatch:
    """Align reads to haplotypes as `align_pairs` does, with GATK's weights for them.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    device
        The device that aligns the reads that do not match exactly; the result does not depend on
        it.

    Returns
    -------
    n alignments in the order of the pairs.
    """
    positions = np.empty(len(pairs), dtype=np.int32)
    _find(
        view_of(pairs.references),
        view_of(pairs.queries),
        read_only(pairs.reference_index),
        read_only(pairs.query_index),
        positions,
    )
    is_found = positions >= 0
    found, rest = np.flatnonzero(is_found), np.flatnonzero(~is_found)
    lengths = pairs.query_lengths[found]
    matches = AlignmentBatch(
        (lengths * _SCORING.match).astype(np.int32),
        positions[found],
        Ragged((lengths << _LENGTH_SHIFT).astype(np.uint32), np.arange(found.size + 1)),
    )
    others = align_pairs(pairs.take(rest), _SCORING, Overhang.SOFTCLIP, device)
    both = AlignmentBatch.concatenate([matches, others])
    order = np.argsort(np.concatenate([found, rest]))
    return AlignmentBatch(both.scores[order], both.offsets[order], both.cigars.take(order))


@njit
def _find(
    references: RaggedView,
    queries: RaggedView,
    reference_index: NDArray[np.int32],
    query_index: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Find the last position of each query in its reference; -1 for none."""
    for pair in range(out.size):
        reference, query = reference_index[pair], query_index[pair]
        start, end = references.offsets[reference], references.offsets[reference + 1]
        first, length = queries.offsets[query], queries.offsets[query + 1] - queries.offsets[query]
        position = end - length
        while position >= start and not _is_at(
            references.data, position, queries.data, first, length
        ):
            position -= 1
        out[pair] = position - start if position >= start else -1


@njit_inlined
def _is_at(
    text: NDArray[np.uint8],
    position: Integer,
    query: NDArray[np.uint8],
    first: Integer,
    length: Integer,
) -> bool:
    k = 0
    while k < length and text[position + k] == query[first + k]:
        k += 1
    return k == length
