"""Clipped reads, fragments and their likelihoods on a GPU (`cuda/genotyping/evidence/*.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import offsets_of
from hapgpu.cigar.cuda import DeviceReadParts
from hapgpu.haplotypes.batches import Loci
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_MAX_GROUPS: Final = 1 << 31
_COLUMNS: Final = ("reads", "loci", "base_starts", "base_ends", "starts", "ends")
_LOCI: Final = Struct(
    "loci",
    (
        *(Array(name, np.int64, "count") for name in ("starts", "ends", "min_starts", "max_ends")),
        Scalar("count", np.int32),
    ),
)
_LIMITS: Final = (Scalar("margin", np.int32), Scalar("min_bases", np.int32))

COUNT_CLIPPED_READS: Final = Kernel(
    "genotyping/clip.cu",
    "count_clipped_reads",
    (RECORDS, _LOCI, *_LIMITS, Array("counts", np.int32, "records.count")),
)
LIST_CLIPPED_READS: Final = Kernel(
    "genotyping/clip.cu",
    "list_clipped_reads",
    (
        *(RECORDS, _LOCI, *_LIMITS),
        Array("offsets", np.int64, "records.count", 1),
        Struct("parts", (*(Array(name, np.int64, "count") for name in _COLUMNS), Length("count"))),
    ),
)
_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LAST: Final = np.iinfo(np.int32).max

FIND_FRAGMENTS: Final = Kernel(
    "genotyping/fragments.cu",
    "find_fragments",
    (
        RECORDS,
        Struct(
            "parts",
            (
                Array("reads", np.int64, "count"),
                Array("groups", np.int64, "count"),
                Scalar("count", np.int32),
            ),
        ),
        Array("table", np.int32, "slots"),
        Array("firsts", np.int32, "slots"),
        Array("part_slots", np.int32, "parts.count"),
        Scalar("slots", np.int32),
    ),
)

COMBINE_FRAGMENTS: Final = Kernel(
    "genotyping/fragment_likelihoods.cu",
    "combine_fragments",
    (
        Array("fragment_offsets", np.int64, "fragments", 1),
        Array("likelihood_offsets", np.int64, "parts", 1),
        Array("base_starts", np.int64, "parts"),
        Array("base_ends", np.int64, "parts"),
        Array("likelihoods", np.float64, "pairs"),
        Array("lowest", np.float64, "parts"),
        Array("is_explained", np.uint8, "fragments"),
        *(Scalar("fragments", np.int32), Length("parts"), Length("pairs")),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceLoci:
    """l loci on the current GPU.

    Attributes
    ----------
    starts, ends
        int64[l]: the loci.
    min_starts, max_ends
        int64[l]: the smallest start from each locus on, and the largest end up to each.
    """

    starts: GpuArray
    ends: GpuArray
    min_starts: GpuArray
    max_ends: GpuArray

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The fields of `_LOCI`."""
        return self.starts, self.ends, self.min_starts, self.max_ends, len(self)


def locus_columns(loci: Loci) -> tuple[NDArray[np.int64], ...]:
    """Return the columns of `DeviceLoci`, int64[l] each, in host memory."""
    min_starts = np.minimum.accumulate(loci.starts[::-1])[::-1]
    return loci.starts, loci.ends, min_starts, np.maximum.accumulate(loci.ends)


@dataclass(frozen=True, slots=True)
class DeviceClippedReads:
    """The columns of `ClippedReads`: w clipped reads by locus, sample and fragment.

    Attributes
    ----------
    parts
        Rows of the records, and offsets of the bases.
    loci
        int64[w], ascending.
    samples
        int32[w].
    starts, ends
        int64[w], the reference interval.
    fragment_offsets
        int64[f + 1].
    """

    parts: DeviceReadParts
    loci: GpuArray
    samples: GpuArray
    starts: GpuArray
    ends: GpuArray
    fragment_offsets: GpuArray

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def fragments(self) -> int:
        """Number of fragments."""
        return int(self.fragment_offsets.size) - 1


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Fragments with capped likelihoods, as in `FragmentEvidence`.

    Attributes
    ----------
    clipped
        The clipped reads of the fragments.
    likelihoods
        float64: the values of a fragment are where its first clipped read has its own.
    likelihood_offsets
        int64[w + 1], the values of each clipped read.
    is_explained
        bool[f].
    """

    clipped: DeviceClippedReads
    likelihoods: GpuArray
    likelihood_offsets: GpuArray
    is_explained: GpuArray


def clipped_device_reads(
    records: DeviceRecords,
    read_samples: GpuArray,
    read_origins: GpuArray,
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
    limits = (loci.fields, margin, min_bases)
    if counts.size:
        arguments = (records.fields, *limits, counts)
        launch_threads(COUNT_CLIPPED_READS, _THREADS, int(counts.size), arguments)
    rows = cupy.flatnonzero(counts)
    records, samples, origins = records.take(rows), read_samples[rows], read_origins[rows]
    offsets = offsets_of(counts[rows])
    parts = int(offsets[-1]) if rows.size else 0
    columns = [cupy.empty(parts, dtype=np.int64) for _ in _COLUMNS]
    if not parts:
        return records, _clipped(columns, samples, cupy.zeros(1, dtype=np.int64))
    listed = (records.fields, *limits, offsets, (*columns, parts))
    launch_threads(LIST_CLIPPED_READS, _THREADS, int(rows.size), listed)
    part_reads, part_loci = columns[:2]
    groups = _groups(part_loci, origins[part_reads], len(loci))
    order, fragments = by_fragment(records, part_reads, groups)
    return records, _clipped([column[order] for column in columns], samples, fragments)


def _groups(loci: GpuArray, origins: GpuArray, count: int) -> GpuArray:
    """Return int64[w], below 2**31: a number for each locus, of `count`, and origin, ascending."""
    origin_count = int(origins.max()) + 1
    if count * origin_count > _MAX_GROUPS:
        distinct, origins = cupy.unique(origins, return_inverse=True)
        origin_count = int(distinct.size)
    return loci * origin_count + origins


def _clipped(columns: list[GpuArray], samples: GpuArray, fragments: GpuArray) -> DeviceClippedReads:
    reads, loci, base_starts, base_ends, starts, ends = columns
    parts = DeviceReadParts(reads, base_starts, base_ends)
    return DeviceClippedReads(parts, loci, samples[reads], starts, ends, fragments)


def by_fragment(
    records: DeviceRecords, reads: GpuArray, groups: GpuArray
) -> tuple[GpuArray, GpuArray]:
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
    parts = (reads[order], groups[order], count)
    arguments = (records.fields, parts, table, firsts, part_slots, slots)
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


def device_evidence_of(
    clipped: DeviceClippedReads, likelihoods: GpuArray, haplotype_counts: GpuArray
) -> DeviceEvidence:
    """Cap the likelihoods of clipped reads, and multiply those of a fragment, as `evidence_of`.

    Parameters
    ----------
    clipped
        w clipped reads.
    likelihoods
        float64 on the current GPU, as in `evidence_of`; changed.
    haplotype_counts
        int64[l] on the GPU, at least 1.
    """
    fragments, parts = clipped.fragments, len(clipped)
    offsets = offsets_of(haplotype_counts[clipped.loci])
    is_explained = cupy.empty(fragments, dtype=np.uint8)
    if fragments:
        arguments = (
            clipped.fragment_offsets,
            offsets,
            clipped.parts.starts,
            clipped.parts.ends,
            likelihoods,
            cupy.empty(parts, dtype=np.float64),
            is_explained,
            fragments,
            parts,
            likelihoods.size,
        )
        launch_threads(COMBINE_FRAGMENTS, _THREADS, fragments, arguments)
    return DeviceEvidence(clipped, likelihoods, offsets, is_explained.view(np.bool_))
