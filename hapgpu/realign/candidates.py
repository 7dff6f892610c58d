"""Which haplotypes a read is aligned to: those of the loci it overlaps, or all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, ReadBatch, offsets_of
from hapgpu.errors import InputError
from hapgpu.io.header import SamHeader
from hapgpu.io.regions import contig_hint
from hapgpu.jit import njit
from hapgpu.realign.cigar import Rows, reference_length, row_of, rows_of
from hapgpu.realign.haplotypes import HaplotypeSet

_UNMAPPED = 4


@dataclass(frozen=True, slots=True)
class Candidates:
    """Reads and the haplotypes they meet, read by read, haplotypes in the order of their file.

    Attributes
    ----------
    offsets
        int64[n + 1]: the candidates of read i are rows `offsets[i]` to `offsets[i + 1]`.
    haplotypes
        int32[offsets[-1]].
    """

    offsets: NDArray[np.int64]
    haplotypes: NDArray[np.int32]

    def __len__(self) -> int:
        return self.haplotypes.size

    @property
    def reads(self) -> NDArray[np.int32]:
        """int32[offsets[-1]]: the read of each candidate."""
        return np.repeat(np.arange(self.counts.size, dtype=np.int32), self.counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[n]: the number of candidates of each read."""
        return np.diff(self.offsets)

    def of_reads_with_any(self) -> Candidates:
        """Leave out the reads that have no candidate."""
        return Candidates(offsets_of(self.counts[self.counts > 0]), self.haplotypes)

    def without(self, reads: NDArray[np.bool_]) -> Candidates:
        """Take all candidates from the reads of a mask, bool[n]."""
        kept = np.repeat(~reads, self.counts)
        return Candidates(offsets_of(np.where(reads, 0, self.counts)), self.haplotypes[kept])


class _LocusTable(NamedTuple):
    """Loci sorted by contig and start.

    `contig_offsets` int64[contigs + 1] into the rest; `reach` is the largest end so far within
    the contig, so that a search to the left knows when to stop.
    """

    contig_offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reach: NDArray[np.int64]
    haplotypes: Rows


class CandidateFinder:
    """Finds the candidates of reads aligned to the contigs of a header.

    Raises
    ------
    InputError
        A locus lies on a contig that the header does not have.
    """

    def __init__(self, haplotypes: HaplotypeSet, header: SamHeader, source: str) -> None:
        self._count = len(haplotypes)
        self._table = _locus_table(haplotypes, header, source) if haplotypes.loci else None

    def find(self, reads: ReadBatch) -> Candidates:
        """Return the candidates of each read; none for a read that overlaps no locus."""
        if self._table is None:
            return _all_candidates(len(reads), self._count)
        offsets, haplotypes = _overlapping(
            reads.flags, reads.reference_ids, reads.positions, rows_of(reads.cigars), self._table
        )
        return Candidates(offsets, haplotypes)


def _all_candidates(reads: int, haplotypes: int) -> Candidates:
    offsets = np.arange(reads + 1, dtype=np.int64) * haplotypes
    return Candidates(offsets, np.tile(np.arange(haplotypes, dtype=np.int32), reads))


def _locus_table(haplotypes: HaplotypeSet, header: SamHeader, source: str) -> _LocusTable:
    contigs = []
    for locus in haplotypes.loci:
        contig = header.reference_id(locus.contig)
        if contig is None:
            hint = contig_hint(locus.contig, header.reference_names)
            message = f"{source} has no contig '{locus.contig}' of locus {locus}{hint}"
            raise InputError(message)
        contigs.append(contig)
    order = sorted(range(len(contigs)), key=lambda k: (contigs[k], haplotypes.loci[k].start))
    starts = np.array([haplotypes.loci[k].start for k in order], dtype=np.int64)
    ends = np.array([haplotypes.loci[k].end for k in order], dtype=np.int64)
    counts = np.bincount(contigs, minlength=len(header.reference_names))
    offsets = offsets_of(counts)
    reach = ends.copy()
    for first, last in pairwise(offsets):
        np.maximum.accumulate(reach[first:last], out=reach[first:last])
    members = [np.flatnonzero(haplotypes.locus_index == k).astype(np.int32) for k in order]
    rows = Ragged.from_lengths(np.concatenate(members), [member.size for member in members])
    return _LocusTable(offsets, starts, ends, reach, rows_of(rows))


@njit
def _overlapping(
    flags: NDArray[np.uint16],
    contigs: NDArray[np.int32],
    positions: NDArray[np.int32],
    cigars: Rows,
    table: _LocusTable,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    count = flags.size
    offsets = np.zeros(count + 1, dtype=np.int64)
    found = np.empty(4 * count + 16, dtype=np.int32)
    for read in range(count):
        used = offsets[read]
        offsets[read + 1] = used
        contig = contigs[read]
        if contig < 0 or contig >= table.contig_offsets.size - 1:
            continue
        start = np.int64(positions[read])
        end = start + _span(flags[read], row_of(cigars, read))
        first, last = table.contig_offsets[contig], table.contig_offsets[contig + 1]
        locus = first + np.searchsorted(table.starts[first:last], end) - 1
        while locus >= first and table.reach[locus] > start:
            if table.ends[locus] > start:
                for haplotype in row_of(table.haplotypes, locus):
                    if used == found.size:
                        found = np.concatenate((found, np.empty_like(found)))
                    found[used] = haplotype
                    used += 1
            locus -= 1
        found[offsets[read] : used].sort()
        offsets[read + 1] = used
    return offsets, found[: offsets[count]].copy()


@njit
def _span(flags: int, cigar: NDArray[np.uint32]) -> int:
    """Count reference bases under a read; samtools takes an unmapped one for one base long."""
    return 1 if flags & _UNMAPPED else max(reference_length(cigar), 1)
