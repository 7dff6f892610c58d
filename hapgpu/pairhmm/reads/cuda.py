"""Read-haplotype pairs grouped by locus, on a GPU; same as `pairs_by_locus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.cigar.cuda.read_parts import DeviceReadParts, clipped_parts
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.device_batches import DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes

_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LOWER_A, _LOWER_Z, _TO_UPPER = (np.uint8(value) for value in b"az ")


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

    locus_index: Any
    members: Any
    member_offsets: Any
    sequences: DeviceRagged
    starts: Any
    ends: Any

    @classmethod
    def upload(cls, haplotypes: LocusHaplotypes) -> Self:
        """Copy haplotypes to the current GPU."""
        return cls(
            cupy.asarray(haplotypes.locus_index),
            cupy.asarray(haplotypes.members.data),
            cupy.asarray(haplotypes.members.offsets),
            DeviceRagged.upload(haplotypes.sequences),
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
    counts
        int64[m], the number of pairs of each overlap.
    """

    reads: Any
    loci: Any
    order: Any
    counts: Any

    @classmethod
    def of(cls, pairs: DeviceReadPairs, haplotypes: DeviceLocusHaplotypes) -> Self:
        """Group pairs, of each read with all haplotypes of its loci, by locus."""
        loci, order = _sorted_rows(haplotypes.locus_index[pairs.haplotypes])
        reads = pairs.reads[order]
        first = _first_of_runs(loci, reads)
        ends = cupy.append(first[1:], cupy.asarray([order.size]))
        return cls(reads[first], loci[first], order, ends - first)

    def clipped_reads(
        self, records: DeviceRecords, haplotypes: DeviceLocusHaplotypes
    ) -> DeviceReadParts:
        """Return the read of each overlap, clipped to its locus if there are loci, as m parts."""
        if not haplotypes.starts.size:
            return DeviceReadParts.whole(records, self.reads)
        starts, ends = haplotypes.starts[self.loci], haplotypes.ends[self.loci]
        return clipped_parts(records, self.reads, starts, ends)

    def take(self, overlaps: Any) -> DevicePairsByLocus:
        """Keep the overlaps of a mask, bool[m]; `order` still has rows of the whole input."""
        kept = overlaps[rows_of(offsets_of(self.counts), int(self.order.size))]
        return DevicePairsByLocus(
            self.reads[overlaps], self.loci[overlaps], self.order[kept], self.counts[overlaps]
        )

    def hmm_batch(self, reads: DeviceHmmReads, haplotypes: DeviceLocusHaplotypes) -> DeviceHmmBatch:
        """Return a batch with a group per locus; its likelihoods are in `order`.

        `reads` has m rows: the part of the read that each overlap uses, of at least one base.
        """
        first = _first_of_runs(self.loci)
        loci = self.loci[first]
        starts = haplotypes.member_offsets[loci]
        offsets = offsets_of(haplotypes.member_offsets[loci + 1] - starts)
        total = int(offsets[-1])
        row = rows_of(offsets, total)
        members = haplotypes.members[cupy.arange(total) + (starts - offsets[:-1])[row]]
        read_offsets = cupy.append(first, cupy.asarray([self.loci.size]))
        return DeviceHmmBatch.of(reads, haplotypes.sequences.take(members), read_offsets, offsets)


def _sorted_rows(values: Any) -> tuple[Any, Any]:
    """Return int64[n]: values below 2**31, ascending, and the row of each, ascending if equal."""
    keys = cupy.sort((values << _ROW_BITS) + cupy.arange(values.size))
    return keys >> _ROW_BITS, keys & _ROW_MASK


def _first_of_runs(*columns: Any) -> Any:
    """Return int64: the first row of each run of rows that are equal in all columns."""
    is_first = cupy.ones(columns[0].size, dtype=np.bool_)
    if is_first.size:
        is_first[1:] = False
        for column in columns:
            is_first[1:] |= column[1:] != column[:-1]
    return cupy.flatnonzero(is_first)
