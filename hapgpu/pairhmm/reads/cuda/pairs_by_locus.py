"""Pairs grouped by locus, on a GPU (`cuda/pairhmm/overlaps.cu`); same as `pairs_by_locus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.cigar.cuda import DeviceReadParts, clipped_parts
from hapgpu.haplotypes.pairing.cuda import DeviceExtended, DeviceReadPairs
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LOWER_A, _LOWER_Z, _TO_UPPER = (np.uint8(value) for value in b"az ")


_SOURCE: Final = "pairhmm/overlaps.cu"
_SORTED: Final = (Array("keys", np.int64, "pairs"), Array("reads", np.int64, "pairs"))
_GROUPS: Final = (Array("loci", np.int64, "overlaps"), Array("first", np.int64, "groups"))
_MEMBER_OFFSETS: Final = Array("member_offsets", np.int64, "locus_count", 1)

COUNT_EXCLUDED: Final = Kernel(
    _SOURCE,
    "count_excluded",
    (
        RECORDS,
        Array("totals", np.int32, "two"),
        Length("two"),
        Scalar("require_flags", np.int32),
        Scalar("exclude_flags", np.int32),
    ),
)
MAKE_KEYS: Final = Kernel(
    _SOURCE,
    "make_keys",
    (
        Array("haplotypes", np.int32, "pairs"),
        Array("locus_index", np.int64, "haplotype_count"),
        Array("keys", np.int64, "pairs"),
        Scalar("pairs", np.int32),
        Length("haplotype_count"),
    ),
)
MARK_OVERLAPS: Final = Kernel(
    _SOURCE,
    "mark_overlaps",
    (*_SORTED, Array("marks", np.int64, "pairs"), Scalar("pairs", np.int32)),
)
LIST_OVERLAPS: Final = Kernel(
    _SOURCE,
    "list_overlaps",
    (
        *_SORTED,
        Array("numbers", np.int64, "pairs"),
        Array("overlap_reads", np.int64, "overlaps"),
        Array("overlap_loci", np.int64, "overlaps"),
        Array("starts", np.int64, "overlaps", 1),
        Array("first", np.int64, "loci", 1),
        Array("order", np.int64, "pairs"),
        Scalar("pairs", np.int32),
        Scalar("overlaps", np.int32),
        Scalar("loci", np.int32),
    ),
)
MEASURE_GROUPS: Final = Kernel(
    _SOURCE,
    "measure_groups",
    (
        *_GROUPS,
        _MEMBER_OFFSETS,
        Array("sizes", np.int64, "groups", 1),
        Length("overlaps"),
        Scalar("groups", np.int32),
        Length("locus_count"),
    ),
)
FIND_MEMBERS: Final = Kernel(
    _SOURCE,
    "find_members",
    (
        *_GROUPS,
        Array("offsets", np.int64, "groups", 1),
        _MEMBER_OFFSETS,
        Array("members", np.int64, "haplotype_count"),
        Array("base_offsets", np.int64, "haplotype_count", 1),
        Array("starts", np.int64, "rows"),
        Array("lengths", np.int64, "rows", 1),
        Length("overlaps"),
        Scalar("groups", np.int32),
        Length("locus_count"),
        Length("haplotype_count"),
        Scalar("rows", np.int32),
    ),
)


def count_excluded(records: DeviceRecords, require_flags: int, exclude_flags: int) -> list[int]:
    """Count the records with these flags that are unmapped, and the others without bases."""
    totals = cupy.zeros(2, dtype=np.int32)
    arguments = (records.fields, totals, 2, require_flags, exclude_flags)
    launch_threads(COUNT_EXCLUDED, _THREADS, len(records), arguments)
    counts: list[int] = totals.get().tolist()
    return counts


@dataclass(frozen=True, slots=True)
class DeviceLocusHaplotypes:
    """The columns of `LocusHaplotypes` on the current GPU.

    Attributes
    ----------
    locus_index
        int64[h], the locus of each haplotype.
    members, member_offsets
        int64[h] and int64[l + 1]: rows of haplotypes, locus by locus, in the order of the file.
    sequences
        uint8 text, upper case, h rows.
    starts, ends
        int64[l], the loci on the reference; empty where there are none.
    """

    locus_index: GpuArray
    members: GpuArray
    member_offsets: GpuArray
    sequences: DeviceRagged
    starts: GpuArray
    ends: GpuArray

    @classmethod
    def upload(cls, haplotypes: LocusHaplotypes, sequences: DeviceRagged | None = None) -> Self:
        """Copy haplotypes to the current GPU; `sequences` are theirs, if they are there."""
        if sequences is None:
            sequences = DeviceRagged.upload_large(haplotypes.sequences)
        return cls(
            cupy.asarray(haplotypes.locus_index),
            cupy.asarray(haplotypes.members.data),
            cupy.asarray(haplotypes.members.offsets),
            sequences,
            cupy.asarray(haplotypes.starts),
            cupy.asarray(haplotypes.ends),
        )

    @classmethod
    def of_windows(cls, extended: DeviceExtended) -> Self:
        """Group extended haplotypes by window, as `LocusHaplotypes.of_windows`."""
        windows = extended.windows.astype(np.int64)
        _, members = _sorted_rows(windows)
        counts = cupy.bincount(windows, minlength=int(extended.reference_starts.size))
        texts = extended.sequences.data
        is_lower = (texts >= _LOWER_A) & (texts <= _LOWER_Z)
        upper = cupy.where(is_lower, texts - _TO_UPPER, texts)
        none = cupy.zeros(0, dtype=np.int64)
        return cls(
            windows,
            members,
            offsets_of(counts),
            DeviceRagged(upper, extended.sequences.offsets),
            none,
            none,
        )


@dataclass(frozen=True, slots=True)
class DevicePairsByLocus:
    """p read-haplotype pairs in m overlaps of a read with a locus, by locus and then by read.

    Attributes
    ----------
    reads, loci
        int64[m] each, of the overlaps.
    order
        int64[p], the row number of each pair in the input, in the order of the likelihoods.
    offsets
        int64[m + 1]: the pairs of each overlap.
    groups
        int64[g + 1]: the overlaps of each locus with any.
    """

    reads: GpuArray
    loci: GpuArray
    order: GpuArray
    offsets: GpuArray
    groups: GpuArray

    @classmethod
    def of(cls, pairs: DeviceReadPairs, haplotypes: DeviceLocusHaplotypes) -> Self:
        """Group pairs, of each read with all haplotypes of its loci, by locus."""
        count = len(pairs)
        keys, marks, order = (cupy.empty(count, dtype=np.int64) for _ in range(3))
        locus_index = haplotypes.locus_index
        arguments = (pairs.haplotypes, locus_index, keys, count, locus_index.size)
        launch_threads(MAKE_KEYS, _THREADS, count, arguments)
        keys.sort()
        reads = pairs.reads
        launch_threads(MARK_OVERLAPS, _THREADS, count, (keys, reads, marks, count))
        numbers = cupy.cumsum(marks)
        total = int(numbers[-1]) if count else 0
        overlaps, loci = total & _ROW_MASK, total >> _ROW_BITS
        overlap_reads, overlap_loci = (cupy.empty(overlaps, dtype=np.int64) for _ in range(2))
        offsets, groups = (cupy.empty(size + 1, dtype=np.int64) for size in (overlaps, loci))
        sorted_pairs = (keys, reads, numbers)
        listed = (overlap_reads, overlap_loci, offsets, groups, order)
        sizes = (count, overlaps, loci)
        launch_threads(LIST_OVERLAPS, _THREADS, count, (*sorted_pairs, *listed, *sizes))
        return cls(overlap_reads, overlap_loci, order, offsets, groups)

    @property
    def counts(self) -> GpuArray:
        """int64[m], the number of pairs of each overlap."""
        return self.offsets[1:] - self.offsets[:-1]

    def clipped_reads(
        self, records: DeviceRecords, haplotypes: DeviceLocusHaplotypes
    ) -> DeviceReadParts:
        """Return the read of each overlap, clipped to its locus if there are loci, as m parts."""
        if not haplotypes.starts.size:
            return DeviceReadParts.whole(records, self.reads)
        starts, ends = haplotypes.starts[self.loci], haplotypes.ends[self.loci]
        return clipped_parts(records, self.reads, starts, ends)

    def take(self, overlaps: GpuArray) -> DevicePairsByLocus:
        """Keep `overlaps`, bool[m], a mask; `order` still has rows of the whole input."""
        kept = self.pairs_of(overlaps)
        loci, offsets = self.loci[overlaps], offsets_of(self.counts[overlaps])
        groups = _runs(loci)
        return DevicePairsByLocus(self.reads[overlaps], loci, self.order[kept], offsets, groups)

    def pairs_of(self, overlaps: GpuArray) -> GpuArray:
        """Return bool[p]: a mask of pairs, in `order`, from a mask of overlaps, bool[m]."""
        return overlaps[rows_of(self.offsets, int(self.order.size))]

    def hmm_batch(self, reads: DeviceHmmReads, haplotypes: DeviceLocusHaplotypes) -> DeviceHmmBatch:
        """Return a batch with a group per locus; its likelihoods are in `order`.

        `reads` has m rows: the part of the read that each overlap uses, of at least one base.
        """
        first = self.groups[:-1]
        overlaps, groups, loci = self.loci.size, first.size, haplotypes.member_offsets.size - 1
        sizes = cupy.empty(groups + 1, dtype=np.int64)
        measured = (self.loci, first, haplotypes.member_offsets, sizes)
        launch_threads(MEASURE_GROUPS, _THREADS, groups, (*measured, overlaps, groups, loci))
        offsets = cupy.cumsum(sizes)
        rows = int(offsets[-1])
        starts, lengths = (cupy.empty(rows + extra, dtype=np.int64) for extra in range(2))
        sequences, members = haplotypes.sequences, haplotypes.members
        of_groups = (self.loci, first, offsets, haplotypes.member_offsets)
        of_members = (members, sequences.offsets, starts, lengths)
        numbers = (overlaps, groups, loci, members.size, rows)
        launch_threads(FIND_MEMBERS, _THREADS, rows, (*of_groups, *of_members, *numbers))
        texts = DeviceRagged.gather_at(sequences.data, starts, cupy.cumsum(lengths))
        return DeviceHmmBatch.of(reads, texts, self.groups, offsets)


def _sorted_rows(values: GpuArray) -> tuple[GpuArray, GpuArray]:
    """Return int64[n]: values below 2**31, ascending, and the row of each, ascending if equal."""
    keys = cupy.sort((values << _ROW_BITS) + cupy.arange(values.size))
    return keys >> _ROW_BITS, keys & _ROW_MASK


def _runs(column: GpuArray) -> GpuArray:
    """Return int64[r + 1]: where runs of equal rows start, and the number of rows."""
    is_first = cupy.ones(column.size + 1, dtype=np.bool_)
    if column.size:
        is_first[1:-1] = column[1:] != column[:-1]
    return cupy.flatnonzero(is_first)
