"""Realignment of BAM records in GPU memory to haplotypes: the CUDA counterpart of `realigner`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.cigar.cuda.mismatches import mismatch_tags
from hapgpu.haplotypes.pairing.cuda import DeviceCandidates, DevicePairFinder, DeviceReadPairs
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups.cuda import DeviceReadGroups
from hapgpu.realign.align.cuda import align_device_pairs
from hapgpu.realign.align.device_batches import DeviceAlignments, DevicePairs
from hapgpu.realign.alleles.counts import AlleleCounts
from hapgpu.realign.alleles.cuda import count_device_alleles
from hapgpu.realign.queries.cuda import DeviceQueries, device_queries
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.records.device_alignments import DeviceNewAlignments
from hapgpu.realign.scoring import Overhang
from hapgpu.realign.selection.by_likelihood_cuda import DeviceLikelihoodChoice
from hapgpu.realign.selection.by_score import NO_SCORE, BestBy
from hapgpu.realign.selection.cuda import DeviceScoredPairs, score_device_read_pairs
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY

# Bytes on the GPU that a read takes for each pair and each base: columns of pairs, sorted and
# unsorted, and CIGARs; bases as letters in both orientations, and MD.
_BYTES_PER_PAIR: Final = 200
_BYTES_PER_BASE: Final = 6
_MEMORY_SHARE: Final = 8  # the reads of one piece may take 1/8 of the memory
_MAX_PIECE: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class DeviceRealigned:
    """New alignments of the records of a batch, or of a piece of it, and counts of its reads.

    Attributes
    ----------
    alignments
        A row per record to write.
    reads
        The number of records in the input, also those without a haplotype.
    unmapped, without_bases
        Numbers of reads with a haplotype.
    alleles
        Counts of reads per sample and haplotype, if they are wanted.
    """

    alignments: DeviceNewAlignments
    reads: int
    unmapped: int
    without_bases: int
    alleles: AlleleCounts | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Concatenate pieces, at least one; a single piece is returned as it is."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            _concatenated([part.alignments for part in parts]),
            sum(part.reads for part in parts),
            sum(part.unmapped for part in parts),
            sum(part.without_bases for part in parts),
            AlleleCounts.concatenate([part.alleles for part in parts if part.alleles])
            if parts[0].alleles
            else None,
        )


@dataclass(frozen=True, slots=True)
class _Aligned:
    """a alignments of reads with haplotypes, read by read, as in `HaplotypeAlignments`.

    `offsets`, int64[n + 1]: the alignments of read i are rows `offsets[i]` to `offsets[i + 1]`.
    """

    offsets: Any
    reads: Any
    queries: Any
    haplotypes: Any
    is_best: Any
    alignments: DeviceAlignments


class DeviceRealigner:
    """Realigns batches of records on a GPU; threads must not share an object.

    The alignments are those of `Realigner` without a placement. Call it with the GPU as the
    current device; it works on the current stream.

    Parameters
    ----------
    haplotypes
        The haplotypes; they stay in the memory of the GPU.
    header
        The header of the input.
    options
        Options of the realignment.
    device
        The GPU.
    source
        Name of the input, for errors.
    groups
        The read groups, to count reads per sample and haplotype.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """

    def __init__(
        self,
        haplotypes: HaplotypeSet,
        header: SamHeader,
        options: RealignOptions,
        device: CudaDevice,
        source: str,
        groups: DeviceReadGroups | None = None,
    ) -> None:
        self._groups = groups
        self._count = len(haplotypes)
        self._options = options
        self._device = device
        finder = PairFinder(haplotypes, header, source)
        with cupy.cuda.Device(device.index):
            self._finder = DevicePairFinder(finder)
            self._sequences = DeviceRagged.upload(haplotypes.sequences)
            self._by_likelihood = DeviceLikelihoodChoice(
                haplotypes, self._sequences, options.scoring, device, source
            )
            # Calls may be on other streams than these copies.
            cupy.cuda.get_current_stream().synchronize()

    def __call__(self, records: DeviceRecords) -> DeviceRealigned:
        """Realign all records of a batch, as `pieces`."""
        return DeviceRealigned.concatenate(list(self.pieces(records)))

    def pieces(self, records: DeviceRecords) -> Iterator[DeviceRealigned]:
        """Realign records, in order, in at least one piece, each of which fits the memory.

        Records are excluded by their flags, and if they overlap no locus.

        Raises
        ------
        InputError
            A record lacks qualities that the likelihoods need, or has no sample.
        MemoryError
            A single read does not fit the memory of the GPU.
        """
        options = self._options
        candidates = self._finder.find(records, options.require_flags, options.exclude_flags)
        reads = len(records)
        bounds = list(pairwise(self._bounds(candidates, records)))
        while bounds:
            start, end = bounds.pop(0)
            try:
                piece = self._realigned(records, candidates, start, end, reads)
            except OUT_OF_MEMORY:
                if end - start <= 1:
                    raise
                cupy.get_default_memory_pool().free_all_blocks()
                middle = (start + end) // 2
                bounds[:0] = [(start, middle), (middle, end)]
            else:
                yield piece
                reads = 0  # all are counted with the first piece

    def _bounds(self, candidates: DeviceCandidates, records: DeviceRecords) -> list[int]:
        """Return the bounds of pieces of limited memory; a piece has a read at least."""
        count = len(candidates)
        bases = records.layout.base_counts[candidates.rows].astype(np.int64)
        ends = cupy.cumsum(_BYTES_PER_PAIR * candidates.counts + _BYTES_PER_BASE * bases)
        total = int(ends[-1]) if count else 0
        limit = max(1, min(self._device.memory_budget() // _MEMORY_SHARE, _MAX_PIECE))
        limits = np.arange(limit, total, limit)
        inner = cupy.searchsorted(ends, cupy.asarray(limits), side="right").get().tolist()
        return [0, *sorted({bound for bound in inner if 0 < bound < count}), count]

    def _realigned(
        self,
        records: DeviceRecords,
        candidates: DeviceCandidates,
        start: int,
        end: int,
        reads: int,
    ) -> DeviceRealigned:
        rows = candidates.rows[start:end]
        piece = records.take(rows)
        without_bases = piece.layout.base_counts == 0
        pairs = candidates.pairs(start, end, without_bases)
        queries = device_queries(piece)
        scored = self._scored(pairs, piece, queries)
        aligned = self._aligned(scored, queries)
        is_mapped = self._is_mapped(aligned, queries, len(piece))
        alleles = None
        if self._groups is not None:
            samples = self._groups.samples_of(piece)
            best = cupy.flatnonzero(aligned.is_best & is_mapped[aligned.reads])
            chosen = aligned.reads[best], aligned.haplotypes[best]
            alleles = count_device_alleles(samples, *chosen, scored.are_tied, self._count)
        return DeviceRealigned(
            self._new_alignments(rows, queries, scored, aligned, is_mapped),
            reads,
            len(piece) - int(is_mapped.sum()),
            int(without_bases.sum()),
            alleles,
        )

    def _scored(
        self, pairs: DeviceReadPairs, records: DeviceRecords, queries: DeviceQueries
    ) -> DeviceScoredPairs:
        """Choose the best pair of each read."""
        if self._options.best_by is BestBy.LIKELIHOOD:
            return self._by_likelihood(pairs, records, queries)
        return score_device_read_pairs(
            pairs, queries, self._sequences, self._options.scoring, self._device
        )

    def _aligned(self, scored: DeviceScoredPairs, queries: DeviceQueries) -> _Aligned:
        """Align the best pair of each read, or all pairs."""
        has_best = scored.best >= 0
        best = scored.best[has_best]
        is_best = cupy.ones(best.size, dtype=np.bool_)
        offsets = offsets_of(has_best.astype(np.int64))
        pair_queries, haplotypes, reads = scored.queries, scored.pairs.haplotypes, scored.reads
        if self._options.write_all:
            is_best = cupy.zeros(len(scored.pairs), dtype=np.bool_)
            is_best[best] = True
            offsets = scored.pairs.offsets
        else:
            pair_queries, haplotypes, reads = pair_queries[best], haplotypes[best], reads[best]
        pairs = DevicePairs(
            self._sequences, queries.bases, haplotypes, pair_queries.astype(np.int32)
        )
        alignments = align_device_pairs(
            pairs, self._options.scoring, Overhang.SOFTCLIP, self._device
        )
        return _Aligned(offsets, reads, pair_queries, haplotypes, is_best, alignments)

    def _is_mapped(self, aligned: _Aligned, queries: DeviceQueries, reads: int) -> Any:
        """Return bool[reads]: whether the best alignment has the minimum score."""
        lengths = queries.bases.lengths_of(aligned.queries)
        perfect = self._options.scoring.match * lengths
        reaches = aligned.alignments.scores >= self._options.min_score * perfect
        is_mapped = cupy.zeros(reads, dtype=np.bool_)
        is_mapped[aligned.reads[aligned.is_best & reaches]] = True
        return is_mapped

    def _new_alignments(
        self,
        rows: Any,
        queries: DeviceQueries,
        scored: DeviceScoredPairs,
        aligned: _Aligned,
        is_mapped: Any,
    ) -> DeviceNewAlignments:
        """Return a row per alignment of a mapped read, and a row per other read."""
        counts = aligned.offsets[1:] - aligned.offsets[:-1]
        offsets = offsets_of(cupy.where(is_mapped, counts, 1))
        total = int(offsets[-1])
        read = rows_of(offsets, total)
        mapped = is_mapped[read]
        # The row after the last alignment means no alignment.
        none = aligned.reads.size
        within = cupy.arange(total) - offsets[read]
        row = cupy.where(mapped, aligned.offsets[read] + within, none)
        edit_distances, mismatches = mismatch_tags(
            queries.bases,
            aligned.queries,
            aligned.alignments.cigars,
            aligned.alignments.offsets,
            self._sequences,
            aligned.haplotypes,
        )
        second_scores = scored.second_scores[read]
        is_best = _with(aligned.is_best, 0)[row]
        return DeviceNewAlignments(
            rows=rows[read],
            mapped=mapped,
            kept=cupy.zeros(total, dtype=np.bool_),
            reference_ids=_with(aligned.haplotypes, -1)[row],
            positions=_with(aligned.alignments.offsets, -1)[row],
            cigars=_with_empty_row(aligned.alignments.cigars).take(row),
            is_reversed=mapped & (_with(aligned.queries, -1)[row] >= is_mapped.size),
            is_secondary=mapped & ~is_best,
            scores=_with(aligned.alignments.scores, 0)[row],
            second_scores=second_scores,
            has_second_score=is_best & (second_scores != NO_SCORE),
            edit_distances=_with(edit_distances, 0)[row],
            mismatches=_with_empty_row(mismatches).take(row),
        )


def _with(values: Any, last: int) -> Any:
    """Append a value, which becomes the type of the others."""
    return cupy.append(values, cupy.asarray([last], dtype=values.dtype))


def _with_empty_row(rows: DeviceRagged) -> DeviceRagged:
    return DeviceRagged(rows.data, cupy.append(rows.offsets, rows.offsets[-1:]))


def _concatenated(parts: Sequence[DeviceNewAlignments]) -> DeviceNewAlignments:
    columns = []
    for field in fields(DeviceNewAlignments):
        arrays = [getattr(part, field.name) for part in parts]
        is_ragged = isinstance(arrays[0], DeviceRagged)
        columns.append((DeviceRagged if is_ragged else cupy).concatenate(arrays))
    return DeviceNewAlignments(*columns)
