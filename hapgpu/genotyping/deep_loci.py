"""Genotyping of loci with very many reads: piece by piece, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.genotyping.batches import ClippedReads, Genotyped, GenotypedLoci, LocusReads
from hapgpu.genotyping.reads.fragment_likelihoods import evidence_of
from hapgpu.genotyping.reads.scored_reads import ScoredReads, fragments_of, name_digests, row_bytes
from hapgpu.haplotypes.batches import LocusBatch

if TYPE_CHECKING:
    from hapgpu.genotyping.cpu import HostGenotyper

MAX_LOCUS_BYTES: Final = 192 << 20
"""Bytes of the scored reads of a locus, at most: 3.6 million reads with two haplotypes."""

READS_OVER_LIMIT: Final = "reads_over_limit"
"""Count of the clipped reads that exceed it."""

_MAX_PAIRS: Final = 1 << 22
"""Likelihoods that are computed at a time, at most."""
_MAX_ROWS: Final = 1 << 20
"""Scored reads of the loci that are genotyped at a time, at most, except for a single locus."""
_EVERY: Final = np.iinfo(np.uint64).max


def has_too_many(reads: NDArray[np.int64], haplotypes: NDArray[np.int64]) -> bool:
    """Return whether a locus has more clipped reads than are used.

    `reads` and `haplotypes`, int64[l], are the numbers of each locus.
    """
    return bool((reads > MAX_LOCUS_BYTES // row_bytes(haplotypes)).any())


def genotyped_in_pieces(
    genotyper: HostGenotyper, batch: LocusBatch, pieces: Iterable[LocusReads]
) -> Iterator[Genotyped]:
    """Genotype loci, given all their reads in pieces, as `DeepLoci`."""
    deep = DeepLoci(genotyper, batch)
    for reads in pieces:
        deep.add(reads, 0)
    yield from deep.finish(0, len(batch.loci)).parts


class DeepLoci:
    """Loci whose reads are scored piece by piece, and genotyped when they are complete.

    Of each clipped read, its likelihoods remain. The genotypes are those that all reads at once
    would give, for any pieces. If the scored reads of a locus exceed `MAX_LOCUS_BYTES`, those with
    the smallest hashes of the name are used, so that mates stay together.

    Parameters
    ----------
    genotyper
        Used by one thread at a time.
    batch
        The loci.
    """

    def __init__(self, genotyper: HostGenotyper, batch: LocusBatch) -> None:
        self._genotyper = genotyper
        self._batch = batch
        self._haplotypes = np.diff(batch.haplotypes.offsets)
        self._max_rows = MAX_LOCUS_BYTES // row_bytes(self._haplotypes)
        self._limits = np.full(len(batch.loci), _EVERY)
        self._seen = np.zeros(len(batch.loci), dtype=np.int64)
        self._unnamed = 0
        self._pieces: list[ScoredReads] = []
        self._work: Counter[str] = Counter()

    def add(self, reads: LocusReads, first: int) -> None:
        """Score reads of the loci from `first` on.

        Raises
        ------
        InputError
            As `Genotyper`.
        """
        clipped = self._genotyper.stages.clip(reads)
        order = np.lexsort((clipped.reads, clipped.loci))
        clipped = _rows_of(clipped, order)
        digests = self._digests(reads, clipped)
        loci = clipped.loci + first
        self._seen += np.bincount(loci, minlength=self._seen.size)
        kept = np.flatnonzero(digests[:, 0] <= self._limits[loci])
        for start, end in _slices(self._haplotypes[loci[kept]], _MAX_PAIRS):
            rows = kept[start:end]
            part = self._scored(reads, _rows_of(clipped, rows), digests[rows], first)
            self._pieces.append(part)
        self._limit(np.unique(loci), is_last=False)

    def finish(self, start: int, end: int) -> GenotypedLoci:
        """Genotype the loci start to end, whose reads have all been added, and forget these."""
        self._limit(np.arange(start, end), is_last=True)
        return GenotypedLoci(list(self._genotyped(start, end)))

    def _digests(self, reads: LocusReads, clipped: ClippedReads) -> NDArray[np.uint64]:
        """Return uint64[w, 2]: hashes of the names; those of unnamed reads are numbers."""
        digests = name_digests(reads.reads.names, clipped.reads)
        unnamed = np.flatnonzero(~digests.any(axis=1))
        digests[unnamed, 0] = self._unnamed + 1 + np.arange(unnamed.size)
        self._unnamed += unnamed.size
        return digests

    def _scored(
        self,
        reads: LocusReads,
        clipped: ClippedReads,
        digests: NDArray[np.uint64],
        first: int,
    ) -> ScoredReads:
        """Return some clipped reads with their likelihoods; count the work."""
        hmm = self._genotyper.stages.join(reads, clipped)
        self._work.update(likelihoods=hmm.pairs, cells=hmm.cells)
        return ScoredReads(
            (clipped.loci + first).astype(np.int32),
            clipped.samples,
            reads.files[clipped.reads],
            (clipped.base_ends - clipped.base_starts).astype(np.int32),
            clipped.starts.astype(np.int32),
            clipped.ends.astype(np.int32),
            digests,
            self._genotyper.stages.likelihoods(hmm).copy(),  # may be in pinned memory
        )

    def _limit(self, loci: NDArray[np.int64], *, is_last: bool) -> None:
        """Drop reads of loci with too many; before the last time, only if they are far too many."""
        counts = self._rows_per_locus()
        allowed = self._max_rows if is_last else self._max_rows + self._max_rows // 4
        for locus in loci[counts[loci] > allowed[loci]].tolist():
            hashes = np.concatenate(
                [piece.digests[piece.rows(locus, locus + 1), 0] for piece in self._pieces]
            )
            rank = int(self._max_rows[locus])
            self._limits[locus] = np.partition(hashes, rank)[rank] - np.uint64(1)
        if (counts[loci] > allowed[loci]).any():
            self._pieces = [self._within_limits(piece) for piece in self._pieces]

    def _rows_per_locus(self) -> NDArray[np.int64]:
        counts = np.zeros(len(self._batch.loci), dtype=np.int64)
        for piece in self._pieces:
            counts += np.bincount(piece.loci, minlength=counts.size)
        return counts

    def _within_limits(self, piece: ScoredReads) -> ScoredReads:
        kept = piece.digests[:, 0] <= self._limits[piece.loci]
        return piece if kept.all() else piece.take(np.flatnonzero(kept), self._haplotypes)

    def _genotyped(self, start: int, end: int) -> Iterator[Genotyped]:
        """Genotype the loci start to end, in slices of a limited number of reads."""
        rows = self._rows_per_locus()
        for first, last in _slices(rows[start:end], _MAX_ROWS):
            bounds = start + first, start + last
            clipped, likelihoods = fragments_of(
                self._taken(*bounds), self._haplotypes[slice(*bounds)]
            )
            evidence = evidence_of(clipped, likelihoods, self._haplotypes[slice(*bounds)])
            excess = int((self._seen - rows)[slice(*bounds)].sum())
            work = {**self._work, READS_OVER_LIMIT: excess}
            self._work.clear()
            yield self._genotyper.called(self._batch.slice(*bounds), evidence, work)

    def _taken(self, start: int, end: int) -> ScoredReads:
        """Return the scored reads of the loci start to end, and forget those of all before."""
        found = [piece.slice(start, end, self._haplotypes) for piece in self._pieces]
        self._pieces = [piece for piece in self._pieces if len(piece) and piece.loci[-1] >= end]
        return ScoredReads.concatenate(found)


def _rows_of(clipped: ClippedReads, rows: NDArray[np.int64]) -> ClippedReads:
    """Gather clipped reads, without their fragments."""
    return ClippedReads(
        clipped.reads[rows],
        clipped.loci[rows],
        clipped.samples[rows],
        clipped.base_starts[rows],
        clipped.base_ends[rows],
        clipped.starts[rows],
        clipped.ends[rows],
        np.arange(rows.size + 1),
    )


def _slices(sizes: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive slices of at most this sum of sizes, or of one element."""
    offsets = offsets_of(sizes)
    start = 0
    while start < sizes.size:
        end = int(np.searchsorted(offsets, offsets[start] + limit, side="right")) - 1
        end = max(end, start + 1)
        yield start, end
        start = end
