"""Read-haplotype pairs grouped by locus, as the pair-HMM computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.read_parts import ReadParts, clipped_parts
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.pairhmm.batches import HmmBatch, HmmReads

Value = TypeVar("Value", bound=np.generic)
_LOWER_A: Final = ord("a")


@dataclass(frozen=True, slots=True)
class LocusHaplotypes:
    """The haplotypes of each locus; in a file without loci, all haplotypes form one.

    Attributes
    ----------
    locus_index
        int64[h], the locus of each haplotype.
    members
        int64 row numbers of haplotypes, one row per locus, in the order of the file.
    sequences
        uint8 text, upper case, h rows.
    starts, ends
        int64[l], the loci on the reference, 0-based, half-open; empty where there are none.
    """

    locus_index: NDArray[np.int64]
    members: Ragged
    sequences: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, haplotypes: HaplotypeSet) -> Self:
        """Group haplotypes by locus; bases become upper case, as in GATK."""
        index = np.maximum(haplotypes.locus_index, 0).astype(np.int64)
        members = Ragged.from_lengths(np.argsort(index, kind="stable"), np.bincount(index))
        starts = np.array([locus.start for locus in haplotypes.loci], dtype=np.int64)
        ends = np.array([locus.end for locus in haplotypes.loci], dtype=np.int64)
        return cls(index, members, _upper_case(haplotypes.sequences), starts, ends)

    @classmethod
    def of_windows(cls, extended: ExtendedHaplotypes) -> Self:
        """Group extended haplotypes by window: the haplotypes of a locus with the same flanks.

        The result has no starts and ends, because reads are not clipped to windows.
        """
        return cls.of(HaplotypeSet((), extended.sequences, (), extended.windows))


def _upper_case(text: Ragged) -> Ragged:
    """Return a text in upper case, without a copy if it is: it may have gigabytes."""
    is_upper = text.data.max(initial=0) < _LOWER_A
    data = (
        read_only(text.data) if is_upper else np.frombuffer(text.data.tobytes().upper(), np.uint8)
    )
    return Ragged(data, text.offsets)


@dataclass(frozen=True, slots=True)
class PairsByLocus:
    """p read-haplotype pairs in m overlaps of a read with a locus, by locus and then by read.

    Attributes
    ----------
    reads, loci
        int64[m] each, of the overlaps.
    order
        int64[p], the row number of each pair in the input, in the order of the likelihoods:
        overlap by overlap, the haplotypes in the order of their file.
    counts
        int64[m], the number of pairs of each overlap.
    """

    reads: NDArray[np.int64]
    loci: NDArray[np.int64]
    order: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: ReadHaplotypePairs, haplotypes: LocusHaplotypes) -> Self:
        """Group pairs, of each read with all haplotypes of its loci, by locus."""
        loci = haplotypes.locus_index[pairs.haplotypes]
        order = np.argsort(loci, kind="stable")
        loci, reads = loci[order], pairs.reads.astype(np.int64)[order]
        is_first = np.ones(order.size, dtype=np.bool_)
        is_first[1:] = (np.diff(loci) != 0) | (np.diff(reads) != 0)
        first = np.flatnonzero(is_first)
        return cls(reads[first], loci[first], order, np.diff(first, append=order.size))

    def take(self, overlaps: NDArray[np.bool_]) -> PairsByLocus:
        """Keep `overlaps`, bool[m], a mask; `order` still has rows of the whole input."""
        order, counts = self.order[self.pairs_of(overlaps)], self.counts[overlaps]
        return PairsByLocus(self.reads[overlaps], self.loci[overlaps], order, counts)

    def clipped_reads(self, reads: ReadBatch, haplotypes: LocusHaplotypes) -> ReadParts:
        """Return the read of each overlap, clipped to its locus if there are loci, as m parts."""
        if not haplotypes.starts.size:
            return ReadParts.whole(reads, self.reads)
        starts, ends = haplotypes.starts[self.loci], haplotypes.ends[self.loci]
        return clipped_parts(reads, self.reads, starts, ends)

    def hmm_batch(self, reads: HmmReads, haplotypes: LocusHaplotypes) -> HmmBatch:
        """Return a batch with a group per locus; its likelihoods are in `order`.

        `reads` has m rows: the part of the read that each overlap uses, of at least one base.
        """
        loci, counts = np.unique(self.loci, return_counts=True)
        members = haplotypes.members.take(loci)
        return HmmBatch(
            reads,
            haplotypes.sequences.take(members.data),
            offsets_of(counts),
            members.offsets,
        )

    def pairs_of(self, overlaps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[p]: a mask of pairs, in `order`, from a mask of overlaps, bool[m]."""
        return np.repeat(overlaps, self.counts)

    def in_input_order(self, values: NDArray[Value]) -> NDArray[Value]:
        """Return `values`, any dtype[p], of pairs given in `order`, in the input order."""
        result = np.empty_like(values)
        result[self.order] = values
        return result
