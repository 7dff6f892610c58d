"""Candidates of reads put together by locus, as batches of the pair-HMM want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, offsets_of
from hapgpu.pairhmm.batch import HmmBatch, HmmReads
from hapgpu.realign.candidates import Candidates

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
    """

    locus_index: NDArray[np.int64]
    members: Ragged
    sequences: Ragged

    @classmethod
    def of(cls, sequences: Ragged, locus_index: NDArray[np.int32]) -> Self:
        """Group haplotypes; a locus of -1 stands for none.

        Bases become upper case, as GATK reads references.
        """
        index = np.maximum(locus_index, 0).astype(np.int64)
        members = Ragged.from_lengths(np.argsort(index, kind="stable"), np.bincount(index))
        upper = np.frombuffer(sequences.data.tobytes().upper(), dtype=np.uint8)
        return cls(index, members, Ragged(upper, sequences.offsets))


@dataclass(frozen=True, slots=True)
class Meetings:
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
    def of(cls, candidates: Candidates, haplotypes: LocusHaplotypes) -> Self:
        """Put candidates, each read's with all haplotypes of its loci, together by locus."""
        loci = haplotypes.locus_index[candidates.haplotypes]
        order = np.argsort(loci, kind="stable")
        loci, reads = loci[order], candidates.reads.astype(np.int64)[order]
        begins = np.ones(order.size, dtype=np.bool_)
        begins[1:] = (np.diff(loci) != 0) | (np.diff(reads) != 0)
        first = np.flatnonzero(begins)
        return cls(reads[first], loci[first], order, np.diff(first, append=order.size))

    def hmm_batch(self, reads: HmmReads, haplotypes: LocusHaplotypes) -> HmmBatch:
        """Return a batch with a region for each locus, whose likelihoods are in `order`."""
        loci, counts = np.unique(self.loci, return_counts=True)
        members = haplotypes.members.take(loci)
        return HmmBatch(
            reads.take(self.reads),
            haplotypes.sequences.take(members.data),
            offsets_of(counts),
            members.offsets,
        )

    def in_candidate_order(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Put values in `order`, [c] of any dtype, back into the order of the candidates."""
        result = np.empty_like(values)
        result[self.order] = values
        return result
