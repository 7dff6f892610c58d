"""Clipped reads grouped by fragment, on a GPU (`cuda/genotyping/evidence/fragments.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128
_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LAST: Final = np.iinfo(np.int32).max

FIND_FRAGMENTS: Final = Kernel(
    "genotyping/evidence/fragments.cu",
    "find_fragments",
    (
        Array("data", np.uint8, "size"),
        Array("record_starts", np.int64, "reads"),
        Array("name_lengths", np.int32, "reads"),
        Array("part_reads", np.int64, "parts"),
        Array("groups", np.int64, "parts"),
        Array("table", np.int32, "slots"),
        Array("firsts", np.int32, "slots"),
        Array("part_slots", np.int32, "parts"),
        Scalar("size", np.int64),
        Scalar("reads", np.int32),
        Scalar("parts", np.int32),
        Scalar("slots", np.int32),
    ),
)


def by_fragment(records: DeviceRecords, reads: Any, groups: Any) -> tuple[Any, Any]:
    """Order clipped reads by group and fragment, as `fragments.by_fragment`; waits for the GPU.

    Parameters
    ----------
    records
        n reads.
    reads
        int64[w], ascending rows of reads, at least one.
    groups
        int64[w], below 2**31: a number for each locus, sample and input.

    Returns
    -------
    int64[w]: rows of the clipped reads; and int64[f + 1]: the fragments in that order.
    """
    count = int(reads.size)
    rows = cupy.arange(count)
    order = cupy.sort((groups << _ROW_BITS) + rows) & _ROW_MASK
    slots = _slots_of(count)
    table = cupy.full(slots, -1, dtype=np.int32)
    firsts = cupy.full(slots, _LAST, dtype=np.int32)
    part_slots = cupy.empty(count, dtype=np.int32)
    arguments = (
        records.data,
        records.layout.starts,
        records.layout.name_lengths,
        reads[order],
        groups[order],
        table,
        firsts,
        part_slots,
        records.data.size,
        len(records),
        count,
        slots,
    )
    launch_threads(FIND_FRAGMENTS, _THREADS, count, arguments)
    is_unnamed = part_slots < 0
    first = cupy.where(is_unnamed, rows, firsts[cupy.where(is_unnamed, 0, part_slots)])
    keys = cupy.sort((first << _ROW_BITS) + rows)
    fragments = keys >> _ROW_BITS
    is_first = cupy.ones(count + 1, dtype=np.bool_)
    is_first[1:-1] = fragments[1:] != fragments[:-1]
    return order[keys & _ROW_MASK], cupy.flatnonzero(is_first)


def _slots_of(parts: int) -> int:
    """Return a power of 2, at least twice the number of clipped reads."""
    return 1 << max(2 * parts, 2).bit_length()
