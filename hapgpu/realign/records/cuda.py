"""Finished BAM records of new alignments on a GPU (`cuda/realign/records.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.encode import missing_contig
from hapgpu.realign.records.build import NewAlignments
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # kThreads in the source


def _kernel(expression: str) -> Kernel:
    source, record = "sources", "records"
    return Kernel(
        "realign/records.cu",
        expression,
        (
            Array("data", np.uint8, "data_size"),
            Array("starts", np.int64, source),
            Array("name_lengths", np.int32, source),
            Array("cigar_lengths", np.int32, source),
            Array("base_counts", np.int32, source),
            Array("tag_lengths", np.int32, source),
            Array("cigar_starts", np.int64, source),
            Array("tag_starts", np.int64, source),
            Array("long_cigars", np.int64, source),
            Array("rows", np.int64, record),
            Array("mapped", np.uint8, record),
            Array("kept", np.uint8, record),
            Array("reference_ids", np.int32, record),
            Array("positions", np.int32, record),
            Array("cigars", np.uint32, "cigar_elements"),
            Array("cigar_offsets", np.int64, record, 1),
            Array("is_reversed", np.uint8, record),
            Array("is_secondary", np.uint8, record),
            Array("scores", np.int32, record),
            Array("second_scores", np.int32, record),
            Array("has_second_score", np.uint8, record),
            Array("edit_distances", np.int32, record),
            Array("mismatches", np.uint8, "mismatch_bytes"),
            Array("mismatch_offsets", np.int64, record, 1),
            Array("contig_names", np.uint8, "contig_name_bytes"),
            Array("contig_offsets", np.int64, "contigs", 1),
            Array("offsets", np.int64, record, 1),
            Array("out", np.uint8, "out_bytes"),
            Array("first_bad", np.int32, "one"),
            Scalar("data_size", np.int64),
            Scalar(source, np.int32),
            Scalar(record, np.int32),
            Scalar("cigar_elements", np.int64),
            Scalar("mismatch_bytes", np.int64),
            Scalar("contigs", np.int32),
            Scalar("contig_name_bytes", np.int32),
            Scalar("out_bytes", np.int64),
            Scalar("one", np.int32),
            Scalar("references", np.int32),
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
    inputs = (
        records.data,
        *records.layout,
        new.rows,
        new.mapped.view(np.uint8),
        new.kept.view(np.uint8),
        new.reference_ids,
        new.positions,
        new.cigars.data,
        new.cigars.offsets,
        new.is_reversed.view(np.uint8),
        new.is_secondary.view(np.uint8),
        new.scores,
        new.second_scores,
        new.has_second_score.view(np.uint8),
        new.edit_distances,
        new.mismatches.data,
        new.mismatches.offsets,
        contig_names.data,
        contig_names.offsets,
    )
    lengths = (records.data.size, len(records), count, new.cigars.data.size)
    texts = (new.mismatches.data.size, len(contig_names), contig_names.data.size)

    def launch(kernel: Kernel, offsets: GpuArray, out: GpuArray) -> None:
        scalars = (*lengths, *texts, out.size, first_bad.size, references)
        arguments = (*inputs, offsets, out, first_bad, *scalars)
        launch_threads(kernel, _THREADS, count * WARP, arguments)

    launch(MEASURE_RECORDS, sizes, cupy.empty(0, dtype=np.uint8))
    offsets = cupy.cumsum(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint8)
    row = int(first_bad[0])
    if row < count:
        raise missing_contig(_name_of(records, int(new.rows[row])))
    launch(WRITE_RECORDS, offsets, out)
    return out, offsets


def _name_of(records: DeviceRecords, row: int) -> NDArray[np.uint8]:
    start = int(records.layout.starts[row]) + FIXED_BYTES
    end = start + int(records.layout.name_lengths[row])
    name: NDArray[np.uint8] = records.data[start:end].get()
    return name
