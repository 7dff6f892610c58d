"""Reads clipped to their loci, on a GPU (`cuda/genotyping/evidence/clip.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import offsets_of
from hapgpu.cigar.cuda.read_parts import DeviceReadParts
from hapgpu.genotyping.device_batches import DeviceClippedReads, DeviceLoci
from hapgpu.genotyping.evidence.fragments_cuda import by_fragment
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128
_MAX_GROUPS: Final = 1 << 31
_COLUMNS: Final = ("out_reads", "out_loci", "base_starts", "base_ends", "starts", "ends")
_INPUTS: Final = (
    Array("data", np.uint8, "size"),
    Array("cigar_starts", np.int64, "reads"),
    Array("cigar_lengths", np.int32, "reads"),
    Array("positions", np.int32, "reads"),
    Array("base_counts", np.int32, "reads"),
    Array("locus_starts", np.int64, "loci"),
    Array("locus_ends", np.int64, "loci"),
    Array("min_starts", np.int64, "loci"),
    Array("max_ends", np.int64, "loci"),
)
_SIZES: Final = (Scalar("size", np.int64), Scalar("reads", np.int32), Scalar("loci", np.int32))
_LIMITS: Final = (Scalar("margin", np.int32), Scalar("min_bases", np.int32))

COUNT_CLIPPED_READS: Final = Kernel(
    "genotyping/evidence/clip.cu",
    "count_clipped_reads",
    (*_INPUTS, Array("counts", np.int32, "reads"), *_SIZES, *_LIMITS),
)
LIST_CLIPPED_READS: Final = Kernel(
    "genotyping/evidence/clip.cu",
    "list_clipped_reads",
    (
        *_INPUTS,
        Array("offsets", np.int64, "reads", 1),
        *(Array(name, np.int64, "parts") for name in _COLUMNS),
        *_SIZES,
        Scalar("parts", np.int32),
        *_LIMITS,
    ),
)


def clipped_device_reads(
    records: DeviceRecords,
    read_samples: Any,
    read_origins: Any,
    loci: DeviceLoci,
    margin: int,
    min_bases: int,
) -> tuple[DeviceRecords, DeviceClippedReads]:
    """Clip reads to the loci that they overlap, as `clipped_reads_of`; waits for the GPU.

    Parameters
    ----------
    records
        n mapped reads of the contig of the loci, in any order.
    read_samples
        int32[n].
    read_origins
        int64[n], from 0: a number for each sample and input, which mates have in common.
    loci
        The loci.
    margin
        Bases of the reference on either side of a locus.
    min_bases
        Clipped reads with fewer bases are excluded; at least 1.

    Returns
    -------
    The reads that overlap a locus, and the clipped reads, whose rows are rows of these.
    """
    counts = cupy.empty(len(records), dtype=np.int32)
    limits = (margin, min_bases)
    if counts.size:
        arguments = (*_inputs(records, loci), counts, *_sizes(records, loci), *limits)
        launch_threads(COUNT_CLIPPED_READS, _THREADS, int(counts.size), arguments)
    rows = cupy.flatnonzero(counts)
    records, samples, origins = records.take(rows), read_samples[rows], read_origins[rows]
    offsets = offsets_of(counts[rows])
    parts = int(offsets[-1]) if rows.size else 0
    columns = [cupy.empty(parts, dtype=np.int64) for _ in _COLUMNS]
    if not parts:
        return records, _clipped(columns, samples, cupy.zeros(1, dtype=np.int64))
    sizes = (*_sizes(records, loci), parts)
    arguments = (*_inputs(records, loci), offsets, *columns, *sizes, *limits)
    launch_threads(LIST_CLIPPED_READS, _THREADS, int(rows.size), arguments)
    part_reads, part_loci = columns[:2]
    groups = _groups(part_loci, origins[part_reads], len(loci))
    order, fragments = by_fragment(records, part_reads, groups)
    return records, _clipped([column[order] for column in columns], samples, fragments)


def _groups(loci: Any, origins: Any, count: int) -> Any:
    """Return int64[w], below 2**31: a number for each locus, of `count`, and origin, ascending."""
    origin_count = int(origins.max()) + 1
    if count * origin_count > _MAX_GROUPS:
        distinct, origins = cupy.unique(origins, return_inverse=True)
        origin_count = int(distinct.size)
    return loci * origin_count + origins


def _inputs(records: DeviceRecords, loci: DeviceLoci) -> tuple[Any, ...]:
    layout = records.layout
    return (
        records.data,
        layout.cigar_starts,
        layout.cigar_lengths,
        records.positions,
        layout.base_counts,
        *loci.columns,
    )


def _sizes(records: DeviceRecords, loci: DeviceLoci) -> tuple[int, ...]:
    return records.data.size, len(records), len(loci)


def _clipped(columns: list[Any], samples: Any, fragments: Any) -> DeviceClippedReads:
    reads, loci, base_starts, base_ends, starts, ends = columns
    parts = DeviceReadParts(reads, base_starts, base_ends)
    return DeviceClippedReads(parts, loci, samples[reads], starts, ends, fragments)
