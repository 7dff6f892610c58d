"""Costs of alignments and hashes of names on a GPU (`cuda/realign/moves/`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.cigar.cuda.mismatches import ALIGNMENT_SIZES, ALIGNMENTS, alignment_arguments
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.realign.moves.alignment_costs import AlignmentCosts
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

ALIGNMENT_COSTS: Final = Kernel(
    "realign/moves/alignment_costs.cu",
    "alignment_costs",
    (
        *ALIGNMENTS,
        Array("scores", np.int64, "count"),
        Array("costs", np.int64, "count"),
        *ALIGNMENT_SIZES,
        Scalar("match", np.int64),
        Scalar("mismatch", np.int64),
        Scalar("gap_open", np.int64),
        Scalar("gap_extend", np.int64),
    ),
)
NAME_HASHES: Final = Kernel(
    "realign/moves/name_hashes.cu",
    "name_hashes",
    (
        Array("data", np.uint8, "size"),
        Array("starts", np.int64, "count"),
        Array("lengths", np.int32, "count"),
        Array("hashes", np.uint64, "count"),
        Scalar("size", np.int64),
        Scalar("count", np.int32),
    ),
)


def alignment_costs(
    bases: DeviceRagged,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
    scoring: Scoring,
) -> AlignmentCosts:
    """Return the scores and costs of n alignments on the current GPU.

    Parameters
    ----------
    bases, cigars, positions, references, reference_index
        As in `alignment_arguments`, with n rows of bases; an alignment without reference is
        incomparable.
    scoring
        The weights.

    Returns
    -------
    AlignmentCosts
        In CuPy arrays, as `hapgpu.realign.moves.alignment_costs.alignment_costs` computes them.
    """
    arrays, sizes = alignment_arguments(bases, None, cigars, positions, references, reference_index)
    count = len(cigars)
    costs = AlignmentCosts(cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int64))
    arguments = (*arrays, *costs, *sizes, *scoring.weights)
    launch_threads(ALIGNMENT_COSTS, _THREADS, count * WARP, arguments)
    return costs


def name_hashes(records: DeviceRecords) -> GpuArray:
    """Return uint64[n]: the hash of each record's name, as `moves.name_hashes` computes it."""
    count = len(records)
    hashes = cupy.empty(count, dtype=np.uint64)
    names = (records.layout.starts + FIXED_BYTES, records.layout.name_lengths)
    arguments = (records.data, *names, hashes, records.data.size, count)
    launch_threads(NAME_HASHES, _THREADS, count, arguments)
    return hashes
