"""CIGARs on a GPU (`cuda/cigar/`): encoding and lengths, clips, parts of reads, NM and MD.

The functions are those of the modules beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_struct
from hapgpu.cigar.clips import Clips, too_many_clips
from hapgpu.cigar.encoding import SKIP
from hapgpu.io.bam.constants import FIXED_BYTES, REFERENCE_OPERATIONS
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

_CIGARS: Final = rows_struct("cigars", np.uint32)
MEASURE_CLIPS: Final = Kernel(
    "cigar/clips.cu",
    "measure_clips",
    (
        RECORDS,
        Struct(
            "clips",
            tuple(
                Array(name, np.int32, "records.count")
                for name in ("leading", "trailing", "leading_hard", "trailing_hard")
            ),
        ),
        *(Array("first_fault", np.int32, "one"), Length("one")),
    ),
)
ADD_HARD_CLIPS: Final = Kernel(
    "cigar/clips.cu",
    "add_hard_clips",
    (
        _CIGARS,
        Array("leading", np.int32, "cigars.count"),
        Array("trailing", np.int32, "cigars.count"),
        Array("out_offsets", np.int64, "cigars.count", 1),
        *(Array("out", np.uint32, "written"), Length("written")),
    ),
)
COPY_CIGARS: Final = Kernel(
    "cigar/encoding.cu",
    "copy_cigars",
    (
        *(RECORDS, Array("offsets", np.int64, "records.count", 1)),
        *(Array("out", np.uint32, "elements"), Length("elements")),
    ),
)
RECORD_LENGTHS: Final = Kernel(
    "cigar/encoding.cu",
    "record_lengths",
    (RECORDS, Scalar("operations", np.int32), Array("lengths", np.int64, "records.count")),
)
REFERENCE_LENGTHS: Final = Kernel(
    "cigar/encoding.cu", "reference_lengths", (_CIGARS, Array("lengths", np.int64, "cigars.count"))
)
ALIGNMENTS: Final = Struct(
    "alignments",
    (
        rows_struct("bases", np.uint8),
        Array("rows", np.int64, "cigars.count"),
        rows_struct("cigars", np.uint32),
        Array("positions", np.int64, "cigars.count"),
        rows_struct("references", np.uint8),
        Array("reference_index", np.int32, "cigars.count"),
    ),
)
_ALIGNMENT_COUNT: Final = "alignments.cigars.count"
MEASURE_MISMATCHES: Final = Kernel(
    "cigar/mismatches.cu",
    "measure_mismatches",
    (
        ALIGNMENTS,
        Array("distances", np.int32, _ALIGNMENT_COUNT),
        Array("sizes", np.int64, _ALIGNMENT_COUNT),
    ),
)
WRITE_MISMATCHES: Final = Kernel(
    "cigar/mismatches.cu",
    "write_mismatches",
    (
        ALIGNMENTS,
        Array("offsets", np.int64, _ALIGNMENT_COUNT, 1),
        *(Array("texts", np.uint8, "characters"), Length("characters")),
    ),
)
_READ_PARTS: Final = Struct(
    "parts",
    (
        *(Array(name, np.int64, "count") for name in ("reads", "starts", "ends")),
        Scalar("count", np.int32),
    ),
)
CLIP_READS: Final = Kernel(
    "cigar/read_parts.cu",
    "clip_reads",
    (
        RECORDS,
        Array("starts", np.int64, "parts.count"),
        Array("ends", np.int64, "parts.count"),
        _READ_PARTS,
    ),
)
MEASURE_LONGEST_PARTS: Final = Kernel(
    "cigar/read_parts.cu",
    "measure_longest_parts",
    (_READ_PARTS, Array("longest", np.int32, "reads"), Length("reads")),
)


def clips_of(records: DeviceRecords, source: str) -> Clips:
    """Return the clips of mapped records with bases, in CuPy arrays; 0 for others.

    Works on the current GPU, and waits for it.

    Raises
    ------
    InputError
        A read has fewer bases than its CIGAR clips.
    """
    layout = records.layout
    count = len(records)
    clips = Clips(*(cupy.empty(count, dtype=np.int32) for _ in range(4)))
    first_fault = cupy.full(1, count, dtype=np.int32)
    measured = (clips.leading, clips.trailing, clips.leading_hard, clips.trailing_hard)
    launch_threads(MEASURE_CLIPS, _THREADS, count, (records.fields, measured, first_fault, 1))
    row = int(first_fault[0])
    if row < count:
        start = int(layout.starts[row]) + FIXED_BYTES
        name = records.data[start : start + int(layout.name_lengths[row])]
        raise too_many_clips(source, name.get())
    return clips


def with_hard_clips(cigars: DeviceRagged, leading: GpuArray, trailing: GpuArray) -> DeviceRagged:
    """Add hard clips to CIGARs; an empty CIGAR stays empty.

    `leading` and `trailing`, int32[n] each, are the bases of the clips; 0 for none.

    Works on the current GPU, and waits for it.
    """
    added = (leading > 0).astype(np.int64) + (trailing > 0)
    offsets = offsets_of(cigars.lengths + cupy.where(cigars.lengths > 0, added, 0))
    written = int(offsets[-1])
    if written == cigars.data.size:
        return cigars
    out = cupy.empty(written, dtype=np.uint32)
    arguments = (cigars.fields, leading, trailing, offsets, out, written)
    launch_threads(ADD_HARD_CLIPS, _THREADS, len(cigars), arguments)
    return DeviceRagged(out, offsets)


def cigars_of(records: DeviceRecords) -> DeviceRagged:
    """Copy the CIGARs of records, uint32 in BAM encoding, on the current GPU; waits for it."""
    offsets = offsets_of(records.layout.cigar_lengths)
    elements = int(offsets[-1])
    out = cupy.empty(elements, dtype=np.uint32)
    arguments = (records.fields, offsets, out, elements)
    launch_threads(COPY_CIGARS, _THREADS, len(records) * WARP, arguments)
    return DeviceRagged(out, offsets)


def record_reference_lengths(records: DeviceRecords) -> GpuArray:
    """Return int64[n]: bases of the reference that the CIGAR of each record spans."""
    return _record_lengths(records, REFERENCE_OPERATIONS)


def record_skipped_lengths(records: DeviceRecords) -> GpuArray:
    """Return int64[n]: bases of the reference that the CIGAR of each record skips (`N`)."""
    return _record_lengths(records, 1 << SKIP)


def reference_lengths(cigars: DeviceRagged) -> GpuArray:
    """Return int64[n]: bases of the reference that each CIGAR spans."""
    count = len(cigars)
    lengths = cupy.empty(count, dtype=np.int64)
    launch_threads(REFERENCE_LENGTHS, _THREADS, count, (cigars.fields, lengths))
    return lengths


def _record_lengths(records: DeviceRecords, operations: int) -> GpuArray:
    """Return int64[n]: the sum of the lengths of some operations, a bit each."""
    count = len(records)
    lengths = cupy.empty(count, dtype=np.int64)
    launch_threads(RECORD_LENGTHS, _THREADS, count, (records.fields, operations, lengths))
    return lengths


def alignment_fields(
    bases: DeviceRagged,
    rows: GpuArray,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
) -> tuple[KernelArgument, ...]:
    """Return the fields of `ALIGNMENTS`.

    Parameters
    ----------
    bases
        uint8 text, q rows: queries, soft-clipped bases included.
    rows
        int64[n], the query of each alignment; None for n queries, one for each.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int32[n] or int64[n], 0-based.
    references
        uint8 text.
    reference_index
        int32[n]: the row of `references` for each alignment; -1 for none.
    """
    return (
        bases.fields,
        cupy.arange(len(cigars), dtype=np.int64) if rows is None else rows,
        cigars.fields,
        positions.astype(np.int64, copy=False),
        *(references.fields, reference_index),
    )


def mismatch_tags(
    bases: DeviceRagged,
    rows: GpuArray,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
) -> tuple[GpuArray, DeviceRagged]:
    """Compute NM and MD of n alignments on the current GPU, and wait for it.

    Parameters
    ----------
    bases, rows, cigars, positions, references, reference_index
        As in `alignment_fields`; references in upper or lower case.

    Returns
    -------
    NM, int32[n], and MD, uint8 text, as `hapgpu.cigar.mismatches.mismatch_tags` computes them.
    """
    alignments = alignment_fields(bases, rows, cigars, positions, references, reference_index)
    count = len(cigars)
    distances = cupy.empty(count, dtype=np.int32)
    lengths = cupy.empty(count, dtype=np.int64)
    launch_threads(MEASURE_MISMATCHES, _THREADS, count * WARP, (alignments, distances, lengths))
    offsets = offsets_of(lengths)
    characters = int(offsets[-1])
    texts = cupy.empty(characters, dtype=np.uint8)
    written = (alignments, offsets, texts, characters)
    launch_threads(WRITE_MISMATCHES, _THREADS, count * WARP, written)
    return distances, DeviceRagged(texts, offsets)


@dataclass(frozen=True, slots=True)
class DeviceReadParts:
    """The columns of `ReadParts` on the current GPU: p parts of reads.

    Attributes
    ----------
    reads
        int64[p]: rows of the records.
    starts, ends
        int64[p]: range of bases of the read, 0-based, half-open.
    """

    reads: GpuArray
    starts: GpuArray
    ends: GpuArray

    @classmethod
    def whole(cls, records: DeviceRecords, rows: GpuArray) -> Self:
        """Return all bases of each of the reads `rows`, int64[p]."""
        starts = cupy.zeros(rows.size, dtype=np.int64)
        return cls(rows, starts, records.layout.base_counts[rows].astype(np.int64))

    def __len__(self) -> int:
        return int(self.reads.size)

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The arguments of a kernel that takes the parts as a struct."""
        return self.reads, self.starts, self.ends, len(self)

    @property
    def lengths(self) -> GpuArray:
        """int64[p]: the number of bases of each part."""
        return self.ends - self.starts

    def take(self, rows: GpuArray) -> DeviceReadParts:
        """Select parts by `rows`, bool[p] as a mask, or int64[r]."""
        return DeviceReadParts(self.reads[rows], self.starts[rows], self.ends[rows])

    def with_all_bases_of(self, records: DeviceRecords, rows: GpuArray) -> DeviceReadParts:
        """Extend the parts of a mask, `rows`, bool[p], to whole reads."""
        starts = cupy.where(rows, 0, self.starts)
        lengths = records.layout.base_counts[self.reads].astype(np.int64)
        return DeviceReadParts(self.reads, starts, cupy.where(rows, lengths, self.ends))

    def longest_of_reads(self, reads: int) -> GpuArray:
        """Return int32[p]: the bases of the longest part of the same read; there are n `reads`."""
        longest = cupy.zeros(reads, dtype=np.int32)
        arguments = (self.fields, longest, reads)
        launch_threads(MEASURE_LONGEST_PARTS, _THREADS, len(self), arguments)
        return longest[self.reads]


def clipped_parts(
    records: DeviceRecords, rows: GpuArray, starts: GpuArray, ends: GpuArray
) -> DeviceReadParts:
    """Clip reads to intervals of the contigs that they are aligned to, on the current GPU.

    Parameters
    ----------
    records
        n reads with positions.
    rows
        int64[p]: reads to clip, in any order, repeats allowed.
    starts, ends
        int64[p]: the interval of each, 0-based, half-open.

    Returns
    -------
    p parts, in order, as `hapgpu.cigar.read_parts.clipped_parts` clips them.
    """
    count = int(rows.size)
    parts = DeviceReadParts(rows, *(cupy.empty(count, dtype=np.int64) for _ in range(2)))
    launch_threads(CLIP_READS, _THREADS, count, (records.fields, starts, ends, parts.fields))
    return parts
