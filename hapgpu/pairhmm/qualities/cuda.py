"""Qualities of reads for the pair-HMM on a GPU (`cuda/pairhmm/qualities.cu`); as `prepare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.qualities.pcr_model import gap_open_limits
from hapgpu.pairhmm.qualities.prepare import MIN_QUALITY, QualityOptions
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 128
_UNMAPPED: Final = 4
_NO_CAP: Final = 255

PREPARE_PARTS: Final = Kernel(
    "pairhmm/qualities.cu",
    "prepare_parts",
    (
        Array("data", np.uint8, "size"),
        Array("record_starts", np.int64, "records"),
        Array("tag_starts", np.int64, "records"),
        Array("base_counts", np.int32, "records"),
        Array("caps", np.uint8, "records"),
        Array("uses_tags", np.uint8, "records"),
        Array("query_bases", np.uint8, "query_base_count"),
        Array("query_offsets", np.int64, "n_queries", 1),
        Array("queries", np.int64, "parts"),
        Array("reads", np.int64, "parts"),
        Array("is_reversed", np.uint8, "parts"),
        Array("part_starts", np.int64, "parts"),
        Array("offsets", np.int64, "parts", 1),
        Array("bases", np.uint8, "total"),
        Array("qualities", np.uint8, "total"),
        Array("insertions", np.uint8, "total"),
        Array("deletions", np.uint8, "total"),
        Array("is_faulty", np.int32, "one"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("query_base_count", np.int64),
        Scalar("n_queries", np.int32),
        Scalar("parts", np.int32),
        Scalar("total", np.int64),
        Scalar("one", np.int32),
        Scalar("gap_open", np.int32),
        Scalar("threshold", np.int32),
        Scalar("min_quality", np.int32),
    ),
)
LIMIT_GAP_OPENS: Final = Kernel(
    "pairhmm/qualities.cu",
    "limit_gap_opens",
    (
        Array("bases", np.uint8, "total"),
        Array("offsets", np.int64, "parts", 1),
        Array("limits", np.uint8, "limit_count"),
        Array("repeats", np.uint8, "total"),
        Array("insertions", np.uint8, "total"),
        Array("deletions", np.uint8, "total"),
        Scalar("total", np.int64),
        Scalar("parts", np.int32),
        Scalar("limit_count", np.int32),
        Scalar("min_quality", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """m parts of reads on the current GPU.

    Attributes
    ----------
    queries
        int64[m]: the row of the bases of each part in the queries.
    reads
        int64[m]: the record of each.
    is_reversed
        bool[m]: whether the query is the reversed record.
    starts, ends
        int64[m]: range of bases of the query, 0-based, half-open.
    """

    queries: Any
    reads: Any
    is_reversed: Any
    starts: Any
    ends: Any

    @property
    def lengths(self) -> Any:
        """int64[m]: the number of bases of each part."""
        return self.ends - self.starts

    def take(self, rows: Any) -> DeviceParts:
        """Gather parts."""
        return DeviceParts(
            self.queries[rows],
            self.reads[rows],
            self.is_reversed[rows],
            self.starts[rows],
            self.ends[rows],
        )


@dataclass(frozen=True, slots=True)
class DeviceHmmReads:
    """Reads with qualities, as in `HmmReads`, on the current GPU.

    Attributes
    ----------
    bases
        uint8 text, a row per read.
    base_qualities, insertion_qualities, deletion_qualities
        uint8 Phred with the rows of `bases`.
    gap_continuation
        Phred, of all bases.
    """

    bases: DeviceRagged
    base_qualities: Any
    insertion_qualities: Any
    deletion_qualities: Any
    gap_continuation: int

    @property
    def columns(self) -> tuple[Any, ...]:
        """The bases and the three columns of qualities."""
        return (
            self.bases.data,
            self.base_qualities,
            self.insertion_qualities,
            self.deletion_qualities,
        )


def prepared_parts(
    records: DeviceRecords, queries: DeviceRagged, parts: DeviceParts, options: QualityOptions
) -> DeviceHmmReads | None:
    """Return parts of reads, in order, prepared as `prepared_parts` of `prepare` does.

    Unmapped reads have no mapping quality, and their tags of base recalibration are ignored.

    Parameters
    ----------
    records
        n reads.
    queries
        uint8 text: the bases of the reads, in one orientation or both.
    parts
        Parts of the queries, each with bases.
    options
        Options of the preparation.

    Returns
    -------
    The parts; None if a read has no base qualities, or a tag `BI` or `BD` that does not hold one
    quality per base.
    """
    layout, count = records.layout, int(parts.reads.size)
    unmapped = (records.flags & _UNMAPPED) != 0
    caps = cupy.full(len(records), _NO_CAP, dtype=np.uint8)
    if options.cap_by_mapping_quality:
        caps = cupy.where(unmapped, caps, records.mapping_qualities)
    offsets = offsets_of(parts.lengths)
    total = int(offsets[-1])
    bases, qualities, insertions, deletions, repeats = (
        cupy.empty(total, dtype=np.uint8) for _ in range(5)
    )
    is_faulty = cupy.zeros(1, dtype=np.int32)
    arguments = (
        records.data,
        layout.starts,
        layout.tag_starts,
        layout.base_counts,
        caps,
        (~unmapped).view(np.uint8),
        queries.data,
        queries.offsets,
        parts.queries,
        parts.reads,
        parts.is_reversed.view(np.uint8),
        parts.starts,
        offsets,
        bases,
        qualities,
        insertions,
        deletions,
        is_faulty,
        records.data.size,
        len(records),
        queries.data.size,
        len(queries),
        count,
        total,
        1,
        options.gap_open,
        options.base_quality_threshold,
        MIN_QUALITY,
    )
    launch_threads(PREPARE_PARTS, _THREADS, count * WARP, arguments)
    limits = cupy.asarray(gap_open_limits(options.pcr_model))
    columns = (bases, offsets, limits, repeats, insertions, deletions)
    sizes = (total, count, limits.size, MIN_QUALITY)
    launch_threads(LIMIT_GAP_OPENS, _THREADS, count, (*columns, *sizes))
    if int(is_faulty[0]):
        return None
    return DeviceHmmReads(
        DeviceRagged(bases, offsets), qualities, insertions, deletions, options.gap_continuation
    )
