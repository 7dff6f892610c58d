"""Assembly on a GPU (`cuda/longread/align/assembly.cu`); the same as `longread/align/assembly`."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.longread.align.assembly import Assembly
from hapgpu.longread.align.batches import MAPPING, AlignedMappings, AlignedPieces, MappedAnchors
from hapgpu.longread.align.parameters import AlignParameters
from hapgpu.longread.cuda.align.rows import (
    MAPPED_ANCHORS,
    MAPPING_WORDS,
    PIECE_ALIGNMENTS,
    PIECES,
    align_kernel,
    column_of,
    mapped_anchor_fields,
    mapping_array,
    piece_alignment_fields,
    piece_fields,
    plan_array,
)
from hapgpu.longread.kernels import OFFSETS, READS, sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Parameter, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_JOIN_THREADS: Final = 256
_JOINED: Final = 8  # columns of `Joined`

_MAPPINGS: Final[tuple[Parameter, ...]] = (
    mapping_array("mappings", "mapping_count"),
    *sizes("mapping_count"),
)
_PLANS: Final[tuple[Parameter, ...]] = (plan_array("plans", "plan_count"), *sizes("plan_count"))
_JOINED_PLANS = Array("joined", np.int32, "plan_count", width=_JOINED)

MEASURE_PLANS: Final = align_kernel(
    "assembly.cu",
    "measure_plans",
    (
        mapping_array("mappings", "mapping_count"),
        *(Length("mapping_count"), *_PLANS),
        *(PIECES, Array("end_anchors", np.int32, "pieces.count")),
        *(Array("drops", np.uint8, "pieces.count"), PIECE_ALIGNMENTS, MAPPED_ANCHORS),
        *sizes("min_anchors"),
        _JOINED_PLANS,
        Array("operation_counts", np.int64, "plan_count"),
        Array("part_counts", np.int64, "plan_count"),
    ),
)
JOIN_OPERATIONS: Final = align_kernel(
    "assembly.cu",
    "join_operations",
    (
        *_MAPPINGS,
        *_PLANS,
        *(_JOINED_PLANS, PIECE_ALIGNMENTS, MAPPED_ANCHORS),
        *(Array("lengths", np.int32, "reads"), Length("reads")),
        Scalar("first_operation", np.int64),
        *(Array("operations", np.uint32, "operation_count"), Length("operation_count")),
        Array("operation_offsets", np.int64, "plan_count", 1),
        *(mapping_array("parts", "part_count"), Length("part_count")),
        Array("part_offsets", np.int64, "plan_count", 1),
    ),
)
COUNT_MAPPINGS: Final = align_kernel(
    "assembly.cu", "count_mappings", (*_MAPPINGS, Array("counts", np.int32, "reads"), READS)
)
ORDER_MAPPINGS: Final = align_kernel(
    "assembly.cu",
    "order_mappings",
    (
        *(*_MAPPINGS, *sizes("initial"), OFFSETS, READS),
        Array("rows", np.int64, "mapping_count"),
        Array("following", np.int32, "mapping_count"),
    ),
)


def assemble(
    mappings: GpuArray,
    aligned: AlignedPieces,
    anchors: MappedAnchors,
    lengths: GpuArray,
    parameters: AlignParameters,
    first_operation: int,
) -> Assembly:
    """Assemble the alignments of mappings; split each mapping at its first dropped fill.

    Works on the current stream of the mappings' device, which must be the current device, and
    waits for it. The mappings of the plans are changed in place. There may be gaps between the
    operations of mappings.

    Parameters
    ----------
    mappings, aligned, anchors, lengths, parameters, first_operation
        As in `align.assembly.assemble`, on the device. Pieces after the first dropped fill of a
        mapping may be aligned; they do not matter.

    Returns
    -------
    Assembly
        On the device.
    """
    planned, alignments = aligned.planned, piece_alignment_fields(aligned.alignments)
    plans = planned.plans.shape[0]
    joined = cupy.empty(plans * _JOINED, dtype=np.int32)
    counts = cupy.empty(2 * plans, dtype=np.int64)  # operations, then parts: one sum is enough
    count, anchor_fields = mappings.shape[0], mapped_anchor_fields(anchors)
    measured = (
        *(mappings, count, planned.plans, plans, piece_fields(planned.pieces)),
        *(planned.end_anchors, aligned.drops, alignments, anchor_fields, parameters.min_anchors),
        *(joined, counts[:plans], counts[plans:]),
    )
    launch_threads(MEASURE_PLANS, _THREADS, plans * WARP, measured)
    offsets = offsets_of(counts)
    operation_offsets, part_offsets = offsets[: plans + 1], offsets[plans:]
    size, end = last_values(operation_offsets, part_offsets)
    new_parts = end - size
    operations = cupy.empty(size, dtype=np.uint32)
    parts = cupy.empty((new_parts, MAPPING_WORDS), dtype=np.int64)
    arguments = (
        *(mappings, count, planned.plans, plans, joined, alignments, anchor_fields),
        *(lengths, lengths.size, first_operation, operations, size, operation_offsets),
        *(parts, new_parts, part_offsets),
    )
    launch_threads(JOIN_OPERATIONS, _JOIN_THREADS, plans * _JOIN_THREADS, arguments)
    return Assembly(cupy.concatenate([mappings, parts]) if new_parts else mappings, operations)


def in_order(mappings: GpuArray, initial: int, operations: GpuArray, reads: int) -> AlignedMappings:
    """Return mappings in the order in which `next` links them.

    Works on the current stream of the mappings' device, which must be the current device, and
    waits for it.

    Parameters
    ----------
    mappings, initial, operations, reads
        As in `align.assembly.in_order`, on the device.

    Returns
    -------
    AlignedMappings
        On the device.
    """
    count = mappings.shape[0]
    counts = cupy.zeros(reads, dtype=np.int32)
    launch_threads(COUNT_MAPPINGS, _THREADS, count, (mappings, count, counts, reads))
    offsets = offsets_of(counts)
    rows, following = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (mappings, count, initial, offsets, reads, rows, following)
    launch_threads(ORDER_MAPPINGS, _THREADS, initial, arguments)
    ordered = mappings[rows]
    first = column_of(ordered, MAPPING, "first_operation")
    sizes_of_rows = column_of(ordered, MAPPING, "operations")
    starts = cupy.ascontiguousarray(first)
    gathered = DeviceRagged.gather(operations, starts, sizes_of_rows)
    first[...] = gathered.offsets[:-1]
    column_of(ordered, MAPPING, "next")[...] = following
    return AlignedMappings(ordered, gathered.data, offsets)
