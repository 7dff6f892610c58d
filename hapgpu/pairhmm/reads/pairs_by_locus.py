"""Pairs of reads put together by locus, as batches of the pair-HMM want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.cigar.read_parts import ReadParts, clipped_parts
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.pairhmm.batches import HmmBatch, HmmReads

_Value = TypeVar("_Value", np.bool_, np.float64)


@dataclass(frozen=True, slots=True)
class LocusHaplotypes:
    """The haplotypes of each locus, those of a file without loci as if they had one in common.

    Attributes
    ----------
    locus_index
        int64[h], the locus of each haplotype.
    members
        int64 rows of haplotypes, one row per locus, in the order of the file.
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
        """Group haplotypes; bases become upper case, as GATK reads references."""
        index = np.maximum(haplotypes.locus_index, 0).astype(np.int64)
        members = Ragged.from_lengths(np.argsort(index, kind="stable"), np.bincount(index))
        sequences = haplotypes.sequences
        upper = np.frombuffer(sequences.data.tobytes().upper(), dtype=np.uint8)
        starts = np.array([locus.start for locus in haplotypes.loci], dtype=np.int64)
        ends = np.array([locus.end for locus in haplotypes.loci], dtype=np.int64)
        return cls(index, members, Ragged(upper, sequences.offsets), starts, ends)

    @classmethod
    def of_windows(cls, extended: ExtendedHaplotypes) -> Self:
        """Group haplotypes with flanks by window: those of one locus with the same flanks.

        Without starts and ends, for reads are not clipped to a window, which reaches beyond them.
        """
        return cls.of(HaplotypeSet((), extended.sequences, (), extended.windows))


@dataclass(frozen=True, slots=True)
class PairsByLocus:
    """m meetings of a read with a locus, locus by locus and then in the order of the reads.

    Attributes
    ----------
    reads, loci
        int64[m] each.
    order
        int64[c], the candidates in the order of the likelihoods: meeting by meeting, the
        haplotypes in the order of their file.
    counts
        int64[m], the number of candidates of each meeting.
    """

    reads: NDArray[np.int64]
    loci: NDArray[np.int64]
    order: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, candidates: ReadHaplotypePairs, haplotypes: LocusHaplotypes) -> Self:
        """Put candidates, each read's with all haplotypes of its loci, together by locus."""
        loci = haplotypes.locus_index[candidates.haplotypes]
        order = np.argsort(loci, kind="stable")
        loci, reads = loci[order], candidates.reads.astype(np.int64)[order]
        begins = np.ones(order.size, dtype=np.bool_)
        begins[1:] = (np.diff(loci) != 0) | (np.diff(reads) != 0)
        first = np.flatnonzero(begins)
        return cls(reads[first], loci[first], order, np.diff(first, append=order.size))

    def whole_reads(self, reads: ReadBatch) -> ReadParts:
        """Return m parts of the batch of reads: all bases of each."""
        return ReadParts.whole(reads, self.reads)

    def clipped_reads(self, reads: ReadBatch, haplotypes: LocusHaplotypes) -> ReadParts:
        """Return m parts of the batch of reads: each clipped to its locus, if there are loci."""
        if not haplotypes.starts.size:
            return self.whole_reads(reads)
        starts, ends = haplotypes.starts[self.loci], haplotypes.ends[self.loci]
        return clipped_parts(reads, self.reads, starts, ends)

    def hmm_batch(self, reads: HmmReads, haplotypes: LocusHaplotypes) -> HmmBatch:
        """Return a batch with a region for each locus, whose likelihoods are in `order`.

        `reads` has m rows: what is weighed of the read of each meeting, at least one base.
        """
        loci, counts = np.unique(self.loci, return_counts=True)
        members = haplotypes.members.take(loci)
        return HmmBatch(
            reads,
            haplotypes.sequences.take(members.data),
            offsets_of(counts),
            members.offsets,
        )

    def candidates_of(self, meetings: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[c]: the candidates, in their own order, of the meetings of a mask, bool[m]."""
        return self.in_candidate_order(np.repeat(meetings, self.counts))

    def in_candidate_order(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Put values in `order`, [c] of any dtype, back into the order of the candidates."""
        result = np.empty_like(values)
        result[self.order] = values
        return result
