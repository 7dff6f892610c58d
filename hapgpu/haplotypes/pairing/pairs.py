"""Pairs of a read and a haplotype: the haplotypes of the loci that a read overlaps, or all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import contig_hint

_UNMAPPED = 4


@dataclass(frozen=True, slots=True)
class ReadHaplotypePairs:
    """Pairs of n reads and haplotypes, read by read, haplotypes in the order of their file.

    Attributes
    ----------
    offsets
        int64[n + 1]: the haplotypes of read i are rows `offsets[i]` to `offsets[i + 1]`.
    haplotypes
        int32[offsets[-1]], the haplotype of each pair.
    """

    offsets: NDArray[np.int64]
    haplotypes: NDArray[np.int32]

    def __len__(self) -> int:
        return self.haplotypes.size

    @property
    def reads(self) -> NDArray[np.int32]:
        """int32[offsets[-1]]: the read of each pair."""
        return np.repeat(np.arange(self.counts.size, dtype=np.int32), self.counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[n]: the number of haplotypes of each read."""
        return np.diff(self.offsets)

    def of_reads_with_any(self) -> ReadHaplotypePairs:
        """Return the pairs with reads renumbered, without the reads that have no haplotype."""
        return ReadHaplotypePairs(offsets_of(self.counts[self.counts > 0]), self.haplotypes)

    def take(self, rows: NDArray[np.bool_]) -> ReadHaplotypePairs:
        """Return the pairs of a mask, `rows`, bool[p]; all n reads stay, some without pairs."""
        counts = np.bincount(self.reads[rows], minlength=self.counts.size)
        return ReadHaplotypePairs(offsets_of(counts), self.haplotypes[rows])

    def without(self, reads: NDArray[np.bool_]) -> ReadHaplotypePairs:
        """Return the pairs without pairs of `reads`, bool[n], a mask; all n reads stay."""
        kept = np.repeat(~reads, self.counts)
        return ReadHaplotypePairs(
            offsets_of(np.where(reads, 0, self.counts)), self.haplotypes[kept]
        )


@dataclass(frozen=True, slots=True)
class LocusTable:
    """l loci ordered by contig and start, as keys of contig and position.

    Attributes
    ----------
    starts, ends
        int64[l].
    max_ends
        int64[l], the largest end up to each locus: ascending, unlike the ends.
    haplotypes
        int32, a row per locus: its haplotypes.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_ends: NDArray[np.int64]
    haplotypes: Ragged


class PairFinder:
    """Search for the haplotypes of reads aligned to the contigs of a header.

    Raises
    ------
    InputError
        The header lacks the contig of a locus.
    """

    def __init__(self, haplotypes: HaplotypeSet, header: SamHeader, source: str) -> None:
        self._count = len(haplotypes)
        self._table = _locus_table(haplotypes, header, source) if haplotypes.loci else None

    @property
    def table(self) -> LocusTable:
        """The loci; without loci, one that every read overlaps, with all haplotypes."""
        if self._table is not None:
            return self._table
        everywhere = np.iinfo(np.int64)
        ends = np.array([everywhere.max])
        every = np.arange(self._count, dtype=np.int32)
        rows = Ragged.from_lengths(every, [self._count])
        return LocusTable(np.array([everywhere.min]), ends, ends, rows)

    def find(self, reads: ReadBatch) -> ReadHaplotypePairs:
        """Return the haplotypes of each read; none for a read that overlaps no locus."""
        if self._table is None:
            return _all_pairs(len(reads), self._count)
        return _overlapping(reads, self._table)


def _all_pairs(reads: int, haplotypes: int) -> ReadHaplotypePairs:
    offsets = np.arange(reads + 1, dtype=np.int64) * haplotypes
    return ReadHaplotypePairs(offsets, np.tile(np.arange(haplotypes, dtype=np.int32), reads))


def _locus_table(haplotypes: HaplotypeSet, header: SamHeader, source: str) -> LocusTable:
    loci = haplotypes.locus_columns()
    found = [header.reference_id(name) for name in loci.contig_names]
    if None in found:
        name = loci.contig_names[found.index(None)]
        locus = next(locus for locus in haplotypes.loci if locus.contig == name)
        message = (
            f"{source}: no contig '{name}' of locus {locus}"
            f"{contig_hint(name, header.reference_names)};"
            " give reads aligned to the reference of the loci"
        )
        raise InputError(message)
    contigs = np.array(found, dtype=np.int64)[loci.contigs]
    order = np.lexsort((loci.starts, contigs))
    contig, start, end = contigs[order], loci.starts[order], loci.ends[order]
    ends = _keys(contig, end)
    by_locus = np.argsort(haplotypes.locus_index, kind="stable").astype(np.int32)
    rows = Ragged.from_lengths(by_locus, np.bincount(haplotypes.locus_index)).take(order)
    return LocusTable(_keys(contig, start), ends, np.maximum.accumulate(ends), rows)


def _keys(contigs: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return keys that sort by contig and position."""
    return (contigs << 32) + np.minimum(positions, 2**32 - 1)


def _overlapping(reads: ReadBatch, table: LocusTable) -> ReadHaplotypePairs:
    contigs, positions = reads.reference_ids.astype(np.int64), reads.positions.astype(np.int64)
    # samtools treats an unmapped read as one base long.
    spans = np.where(reads.flags & _UNMAPPED, 1, np.maximum(reference_lengths(reads.cigars), 1))
    starts, ends = _keys(contigs, positions), _keys(contigs, positions + spans)
    # Loci that start before the read ends, from the first that ends after the read starts.
    first = np.searchsorted(table.max_ends, starts, side="right")
    counts = np.maximum(np.searchsorted(table.starts, ends) - first, 0)
    read, locus = _expanded(first, counts)
    overlaps = table.ends[locus] > starts[read]
    read, locus = read[overlaps], locus[overlaps]
    row, member = _expanded(table.haplotypes.offsets[locus], table.haplotypes.lengths[locus])
    read, haplotype = read[row], table.haplotypes.data[member]
    haplotype = haplotype[np.lexsort((haplotype, read))]
    return ReadHaplotypePairs(offsets_of(np.bincount(read, minlength=len(reads))), haplotype)


def _expanded(
    starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and value of each of the `counts` consecutive integers from each start on."""
    rows = np.repeat(np.arange(counts.size), counts)
    return rows, np.arange(rows.size) + (starts - offsets_of(counts)[:-1])[rows]
