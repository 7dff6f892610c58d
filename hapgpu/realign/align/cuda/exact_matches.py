"""GATK's rule for queries that are substrings of their reference, on a GPU.

Most reads match a haplotype exactly; to find that (`cuda/realign/exact_matches.cu`) takes far fewer
steps than an alignment.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.realign.align.cuda.batches import PAIRS, DeviceAlignments, DevicePairs
from hapgpu.runtime.gpu.kernel import Array, Kernel
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_LENGTH_SHIFT: Final = 4  # of a CIGAR element; the operation M is 0

EXACT_MATCHES: Final = Kernel(
    "realign/exact_matches.cu",
    "exact_matches",
    (PAIRS, Array("positions", np.int32, "pairs.count")),
)


def exact_positions(pairs: DevicePairs) -> GpuArray:
    """Return int32[n]: the last position of each query in its reference; -1 for none."""
    positions = cupy.empty(len(pairs), dtype=np.int32)
    launch_threads(EXACT_MATCHES, _THREADS, len(pairs) * WARP, (pairs.fields, positions))
    return positions


def with_exact_matches(
    rest: GpuArray, computed: DeviceAlignments, positions: GpuArray, lengths: GpuArray, match: int
) -> DeviceAlignments:
    """Put exact matches and the alignments of the other pairs in one batch.

    Parameters
    ----------
    rest
        int64[r]: the pairs that were aligned; the others are exact matches.
    computed
        The alignments of these pairs, or only their scores.
    positions
        int32[n] of `exact_positions`.
    lengths
        int64[n]: the query lengths.
    match
        The weight of a match.
    """
    scores = (match * lengths).astype(np.int32)
    scores[rest] = computed.scores
    if not computed.offsets.size and rest.size:
        return DeviceAlignments(scores, computed.offsets, computed.cigars)
    offsets = positions.copy()
    offsets[rest] = computed.offsets
    elements = (lengths << _LENGTH_SHIFT).astype(np.uint32)
    data = cupy.concatenate([elements, computed.cigars.data])
    starts, counts = cupy.arange(positions.size), cupy.ones(positions.size, dtype=np.int64)
    starts[rest] = positions.size + computed.cigars.offsets[:-1]
    counts[rest] = computed.cigars.lengths
    return DeviceAlignments(scores, offsets, DeviceRagged.gather(data, starts, counts))
