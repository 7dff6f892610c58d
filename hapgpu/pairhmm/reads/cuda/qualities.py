"""Qualities of BAM records, prepared as in GATK on a GPU (`cuda/pairhmm/qualities.cu`)."""

from __future__ import annotations

from typing import Final, NoReturn

import cupy
import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.cigar.cuda import DeviceReadParts
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords, download_reads
from hapgpu.pairhmm.cuda.batches import READ_COLUMNS, DeviceHmmReads
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.pcr_model import gap_open_limits_of_bases
from hapgpu.pairhmm.reads.qualities import check_base_qualities
from hapgpu.pairhmm.reads.quality_tags import tag_qualities
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_NO_CAP: Final = 255
_TAGS: Final = ("BI", "BD")

FIND_INDEL_QUALITIES: Final = Kernel(
    "pairhmm/qualities.cu",
    "find_indel_qualities",
    (
        RECORDS,
        Array("insertions", np.int64, "records.count"),
        Array("deletions", np.int64, "records.count"),
        *(Array("first_faults", np.int32, "two"), Length("two")),
    ),
)
_PARTS: Final = Struct(
    "parts",
    (
        Array("reads", np.int64, "count"),
        Array("starts", np.int64, "count"),
        *(Array("offsets", np.int64, "count", 1), Scalar("count", np.int32)),
    ),
)
PREPARE_QUALITIES: Final = Kernel(
    "pairhmm/qualities.cu",
    "prepare_qualities",
    (
        RECORDS,
        Array("caps", np.uint8, "records.count"),
        Array("is_reversed", np.uint8, "records.count"),
        Array("insertions", np.int64, "records.count"),
        Array("deletions", np.int64, "records.count"),
        *(_PARTS, Array("limits", np.uint8, "limit_count"), Length("limit_count")),
        *(READ_COLUMNS, Scalar("gap_open", np.int32), Scalar("threshold", np.int32)),
    ),
)


def check_device_qualities(records: DeviceRecords, source: str, remedy: str) -> None:
    """Raise an error for records without base qualities, as `check_base_qualities`.

    Parameters
    ----------
    records
        Reads with bases, on the current GPU, which is waited for.
    source
        Name of the input, for the error.
    remedy
        An imperative, for the error.

    Raises
    ------
    InputError
        A read has no base qualities.
    """
    layout = records.layout
    first = records.data[layout.tag_starts - layout.base_counts]
    missing = cupy.flatnonzero(first == MISSING_QUALITY)
    if missing.size:
        check_base_qualities(_downloaded(records, int(missing[0])), source, remedy)


def prepared_device_parts(
    records: DeviceRecords,
    parts: DeviceReadParts,
    options: QualityOptions,
    source: str,
    is_reversed: GpuArray = None,
) -> DeviceHmmReads:
    """Return parts of reads with the qualities of the pair-HMM, as `prepared_parts`.

    Works on the current GPU, and waits for it.

    Parameters
    ----------
    records
        n reads with bases and base qualities.
    parts
        Parts of the reads, each with bases.
    options
        Options of the preparation.
    source
        Name of the input, for errors.
    is_reversed
        bool[n]: reads to reverse and complement first, which must have no tags; None for none.
        Their parts are in the new orientation.

    Raises
    ------
    InputError
        A tag `BI` or `BD` of a read does not hold one quality per base.
    """
    insertions, deletions = _indel_qualities(records, options.gap_open, source)
    offsets = offsets_of(parts.lengths)
    bases = int(offsets[-1])
    texts, of_bases, of_insertions, of_deletions = columns = [
        cupy.empty(bases, dtype=np.uint8) for _ in range(4)
    ]
    caps = records.mapping_qualities
    if not options.cap_by_mapping_quality:
        caps = cupy.full(len(records), _NO_CAP, dtype=np.uint8)
    if is_reversed is None:
        is_reversed = cupy.zeros(len(records), dtype=np.bool_)
    limits = cupy.asarray(gap_open_limits_of_bases(options.pcr_model))
    arguments = (
        *(records.fields, caps, is_reversed.view(np.uint8), insertions, deletions),
        *((parts.reads, parts.starts, offsets, len(parts)), limits, limits.size),
        *((*columns, bases), options.gap_open, options.base_quality_threshold),
    )
    launch_threads(PREPARE_QUALITIES, _THREADS, len(parts) * WARP, arguments)
    return DeviceHmmReads(
        DeviceRagged(texts, offsets),
        of_bases,
        of_insertions,
        of_deletions,
        options.gap_continuation,
    )


def _indel_qualities(
    records: DeviceRecords, gap_open: int, source: str
) -> tuple[GpuArray, GpuArray]:
    """Return int64[n] each: where the values of `BI` and `BD` start in the bytes, or -1."""
    count = len(records)
    insertions, deletions = (cupy.empty(count, dtype=np.int64) for _ in range(2))
    first_faults = cupy.full(2, count, dtype=np.int32)
    arguments = (records.fields, insertions, deletions, first_faults, 2)
    launch_threads(FIND_INDEL_QUALITIES, _THREADS, count, arguments)
    for name, row in zip(_TAGS, first_faults.get().tolist(), strict=True):
        if row < count:
            _refuse(records, row, name, gap_open, source)
    return insertions, deletions


def _refuse(records: DeviceRecords, row: int, name: str, gap_open: int, source: str) -> NoReturn:
    """Raise the error of the host for a record with an invalid tag."""
    tag_qualities(_downloaded(records, row), name, gap_open, source)
    message = f"record {row}: tag {name} was refused on the GPU only"
    raise AssertionError(message)


def _downloaded(records: DeviceRecords, row: int) -> ReadBatch:
    return download_reads(records.take(slice(row, row + 1)))
