"""Finished BAM records of new alignments on a GPU (`cuda/realign/records.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged, rows_struct
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.io.bam.encode import missing_contig
from hapgpu.realign.records.build import NewAlignments
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # kThreads in the source


_ALIGNMENTS: Final = Struct(
    "alignments",
    (
        Array("rows", np.int64, "count"),
        Array("mapped", np.uint8, "count"),
        Array("kept", np.uint8, "count"),
        Array("reference_ids", np.int32, "count"),
        Array("positions", np.int32, "count"),
        rows_struct("cigars", np.uint32, "alignments.count"),
        Array("is_reversed", np.uint8, "count"),
        Array("is_secondary", np.uint8, "count"),
        Array("scores", np.int32, "count"),
        Array("second_scores", np.int32, "count"),
        Array("has_second_score", np.uint8, "count"),
        Array("edit_distances", np.int32, "count"),
        rows_struct("mismatches", np.uint8, "alignments.count"),
        Scalar("count", np.int32),
    ),
)


def _kernel(expression: str) -> Kernel:
    return Kernel(
        "realign/records.cu",
        expression,
        (
            *(RECORDS, _ALIGNMENTS, rows_struct("contigs", np.uint8)),
            Scalar("references", np.int32),
            Array("offsets", np.int64, "alignments.count", 1),
            *(Array("out", np.uint8, "out_bytes"), Length("out_bytes")),
            *(Array("first_bad", np.int32, "one"), Length("one")),
        ),
    )


MEASURE_RECORDS = _kernel("finish_records<false>")
WRITE_RECORDS = _kernel("finish_records<true>")


def finished_records(
    records: DeviceRecords,
    new: NewAlignments[DeviceRagged],
    contig_names: DeviceRagged,
    references: int,
) -> tuple[GpuArray, GpuArray]:
    """Write records with new alignments, tags of the old alignments, and no mates.

    The bytes are the same as by `realigned_records` and `EncodedRecords`. Waits for the GPU.

    Parameters
    ----------
    records
        The records as read.
    new
        The new alignments of m records.
    contig_names
        uint8 text, one row per @SQ line of the input.
    references
        Number of contigs in the header of the output.

    Returns
    -------
    data
        uint8 on the GPU: the records, end to end.
    offsets
        int64[m + 1] on the GPU: offsets of the records.

    Raises
    ------
    OutputError
        The header of the output lacks a contig.
    """
    count = len(new)
    if not count:
        return cupy.empty(0, dtype=np.uint8), cupy.zeros(1, dtype=np.int64)
    sizes = cupy.empty(count + 1, dtype=np.int64)
    first_bad = cupy.full(1, count, dtype=np.int32)
    inputs = (records.fields, _alignment_fields(new), contig_names.fields, references)

    def launch(kernel: Kernel, offsets: GpuArray, out: GpuArray) -> None:
        arguments = (*inputs, offsets, out, out.size, first_bad, first_bad.size)
        launch_threads(kernel, _THREADS, count * WARP, arguments)

    launch(MEASURE_RECORDS, sizes, cupy.empty(0, dtype=np.uint8))
    offsets = cupy.cumsum(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint8)
    row = int(first_bad[0])
    if row < count:
        raise missing_contig(_name_of(records, int(new.rows[row])))
    launch(WRITE_RECORDS, offsets, out)
    return out, offsets


def _alignment_fields(new: NewAlignments[DeviceRagged]) -> tuple[KernelArgument, ...]:
    """Return the fields of `_ALIGNMENTS`."""
    return (
        *(new.rows, new.mapped.view(np.uint8), new.kept.view(np.uint8)),
        *(new.reference_ids, new.positions, new.cigars.fields),
        *(new.is_reversed.view(np.uint8), new.is_secondary.view(np.uint8)),
        *(new.scores, new.second_scores, new.has_second_score.view(np.uint8)),
        *(new.edit_distances, new.mismatches.fields, len(new)),
    )


def _name_of(records: DeviceRecords, row: int) -> NDArray[np.uint8]:
    start = int(records.layout.starts[row]) + FIXED_BYTES
    end = start + int(records.layout.name_lengths[row])
    name: NDArray[np.uint8] = records.data[start:end].get()
    return name
