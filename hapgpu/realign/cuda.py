"""Stages of the realignment of BAM records in GPU memory, and workers that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final, TypeVar

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.arrays.kinds import ArrayKind
from hapgpu.cigar.clips import Clips
from hapgpu.cigar.cuda import (
    cigars_of,
    clips_of,
    mismatch_tags,
    record_reference_lengths,
    reference_lengths,
    with_hard_clips,
)
from hapgpu.haplotypes.pairing.cuda import (
    DeviceCandidates,
    DeviceExtended,
    DeviceExtender,
    DevicePairFinder,
    DeviceReadPairs,
)
from hapgpu.haplotypes.pairing.extended_haplotypes import Extender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.read_groups import DeviceReadGroups
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads, RecordWorker
from hapgpu.pairhmm.reads.cuda.pairs_by_locus import DeviceLocusHaplotypes
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.realign.align.cuda.aligner import align_device_pairs, score_device_pairs
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.mover import BestPairs, MovableReads, Mover, MoveTask
from hapgpu.realign.projection.alignment_costs import AlignmentCosts
from hapgpu.realign.projection.cuda import (
    DevicePlacement,
    alignment_costs,
    are_same_alignments,
    clip_end_insertions,
    name_hashes,
    project_alignments,
)
from hapgpu.realign.projection.moves import Moves
from hapgpu.realign.projection.project import Projections
from hapgpu.realign.realigner import (
    HaplotypeAlignments,
    OutputAlignments,
    ReadsAtLoci,
    Realigned,
    Realigner,
    RealignTask,
    Records,
)
from hapgpu.realign.records.build import NewAlignments
from hapgpu.realign.records.cuda import finished_records
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.choice import WithBases, WithSequences
from hapgpu.realign.selection.cuda import (
    DevicePairLikelihoods,
    DeviceQueries,
    are_tied,
    best_by_likelihood,
    best_by_score,
    device_queries,
)
from hapgpu.realign.selection.queries import ClipVariants
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.gpu.parts import computed_in_parts
from hapgpu.runtime.gpu.resident import ResidentCopies
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.gpu_processes import opened_workers
from hapgpu.runtime.output import Output, joined

# Bytes on the GPU that a read takes for each pair and each base: columns of pairs, sorted and
# unsorted, and CIGARs; bases as letters in both orientations, and MD.
_BYTES_PER_PAIR: Final = 200
_BYTES_PER_BASE: Final = 6
_MEMORY_SHARE: Final = 8  # the reads of one piece may take 1/8 of the memory
_MAX_PIECE: Final = 1 << 30

_ARRAYS: Final = ArrayKind(
    cupy, DeviceRagged, DeviceRagged.gather, offsets_of, rows_of, cupy.asnumpy
)

_Task = TypeVar("_Task")
_Content = TypeVar("_Content")
_Result = TypeVar("_Result")


def open_realigner(
    task: RealignTask, device: CudaDevice
) -> Callable[[DeviceRecords], Output[Realigned]]:
    """Return a function that realigns records on the current GPU; threads must not share it.

    The bytes are the same as on the CPU.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """
    return Realigner(_DeviceRealignStages(task, device), task.options, len(task.haplotypes))


def open_mover(task: MoveTask, device: CudaDevice) -> Callable[[DeviceRecords], Output[Moves]]:
    """Return a function that finds moves on the current GPU; threads must not share it.

    The moves are the same as on the CPU.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """
    return Mover(_DeviceMoverStages(task, device), task.options)


def realign_workers(
    reads: DeviceReads, devices: Sequence[CudaDevice], processes: int, task: RealignTask
) -> Sequence[Callable[[DevicePiece], Output[Realigned]]]:
    """Return the workers that realign the pieces of a file; `processes`: see `opened_workers`."""
    # A second worker on a GPU is hardly faster, because the kernels fill it, and takes 200 MiB;
    # but in another process, one sends records while the other computes.
    workers = list(dict.fromkeys(devices)) if processes == 1 else devices
    return _workers(reads, workers, processes, open_realigner, task, Realigned.concatenate)


def move_workers(
    reads: DeviceReads, devices: Sequence[CudaDevice], processes: int, task: MoveTask
) -> Sequence[Callable[[DevicePiece], Output[Moves]]]:
    """Return the workers that find the moves of a file's pieces; see `realign_workers`."""
    return _workers(reads, devices, processes, open_mover, task, Moves.concatenate)


def _workers(
    reads: DeviceReads,
    devices: Sequence[CudaDevice],
    processes: int,
    open_worker: Callable[[_Task, CudaDevice], Callable[[DeviceRecords], Output[_Content]]],
    task: _Task,
    join: Callable[[Sequence[_Content]], _Content],
) -> Sequence[Callable[[DevicePiece], Output[_Content]]]:
    def worker(device: CudaDevice) -> RecordWorker[Output[_Content]]:
        return RecordWorker(
            reads, device, partial(open_worker, task), lambda outputs: joined(outputs, join)
        )

    return opened_workers(devices, worker, processes)


@dataclass(frozen=True, slots=True)
class _Part:
    """Records at loci: `candidates.rows[start:end]` of the records."""

    records: DeviceRecords
    candidates: DeviceCandidates
    start: int
    end: int

    def taken(self) -> DeviceRecords:
        return self.records.take(self.candidates.rows[self.start : self.end])

    def halves(self) -> Sequence[_Part]:
        if self.end - self.start <= 1:
            return []
        middle = (self.start + self.end) // 2
        return [replace(self, end=middle), replace(self, start=middle)]


class _DeviceStages:
    """Stages that are the same for realignment to haplotypes and to the reference."""

    arrays = _ARRAYS
    pairs = DeviceReadPairs

    def __init__(self, scoring: Scoring, device: CudaDevice) -> None:
        self._scoring = scoring
        self._device = device

    def first_of_best(self, pairs: DeviceReadPairs, scores: GpuArray) -> GpuArray:
        best, _ = best_by_score(pairs.offsets, scores)
        return best

    def best_by_score(self, pairs: DeviceReadPairs, scores: GpuArray) -> tuple[GpuArray, GpuArray]:
        return best_by_score(pairs.offsets, scores)

    def best_by_likelihood(
        self, pairs: DeviceReadPairs, likelihoods: GpuArray, scores: GpuArray
    ) -> tuple[GpuArray, GpuArray]:
        return best_by_likelihood(pairs.offsets, likelihoods, scores)

    def score(
        self,
        targets: WithSequences[DeviceRagged],
        queries: WithBases[DeviceRagged],
        haplotypes: GpuArray,
        rows: GpuArray,
    ) -> GpuArray:
        pairs = DevicePairs(targets.sequences, queries.bases, haplotypes, rows.astype(np.int32))
        return score_device_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)

    def align(
        self,
        targets: WithSequences[DeviceRagged],
        queries: WithBases[DeviceRagged],
        haplotypes: GpuArray,
        rows: GpuArray,
    ) -> DeviceAlignments:
        pairs = DevicePairs(targets.sequences, queries.bases, haplotypes, rows.astype(np.int32))
        return align_device_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)


@dataclass(frozen=True, slots=True)
class DeviceTargets:
    """Haplotypes to align with, also by locus; all workers of a GPU share them.

    Attributes
    ----------
    sequences
        uint8 text, as in the file.
    by_locus
        The haplotypes of each locus; their text is `sequences`, if that is in upper case.
    """

    sequences: DeviceRagged
    by_locus: DeviceLocusHaplotypes

    @classmethod
    def upload(cls, haplotypes: HaplotypeSet) -> DeviceTargets:
        """Copy haplotypes to the current GPU; they may have gigabytes."""
        sequences, by_locus = haplotypes.sequences, LocusHaplotypes.of(haplotypes)
        is_same = np.may_share_memory(sequences.data, by_locus.sequences.data)
        uploaded = DeviceRagged.upload_large(sequences)
        return cls(uploaded, DeviceLocusHaplotypes.upload(by_locus, uploaded if is_same else None))


def _byte_count(haplotypes: HaplotypeSet) -> int:
    sequences = haplotypes.sequences
    return int(sequences.data.nbytes + sequences.offsets.nbytes)


TARGETS: Final = ResidentCopies(
    "the text of the haplotypes",
    _byte_count,
    DeviceTargets.upload,
    "divide them among several runs, or use --device cpu",
)
"""The haplotypes on each GPU."""


class _DeviceRealignStages(_DeviceStages):
    """Stages of `Realigner`; the haplotypes stay in the memory of the GPU."""

    keeps_unmapped = False
    are_tied = staticmethod(are_tied)
    queries = staticmethod(device_queries)

    def __init__(self, task: RealignTask, device: CudaDevice) -> None:
        super().__init__(task.options.scoring, device)
        self._options = task.options
        self._finder = DevicePairFinder(PairFinder(task.haplotypes, task.header, task.source))
        self._targets = TARGETS.on(task.haplotypes, device)
        self._likelihoods = DevicePairLikelihoods(device, task.source)
        self._contig_names = DeviceRagged.upload(task.contig_names)
        self._references = len(task.haplotypes)
        self._groups = None if task.groups is None else DeviceReadGroups(task.groups)

    def at_loci(
        self,
        records: DeviceRecords,
        compute: Callable[[ReadsAtLoci[DeviceRecords, DeviceReadPairs]], _Result],
    ) -> Iterator[_Result]:
        def computed(part: _Part) -> _Result:
            taken = part.taken()
            without_bases = taken.layout.base_counts == 0
            pairs = part.candidates.pairs(part.start, part.end, without_bases)
            return compute(ReadsAtLoci(taken, without_bases, pairs))

        options = self._options
        candidates = self._finder.find(records, options.require_flags, options.exclude_flags)
        for start, end in pairwise(self._bounds(candidates, records)):
            part = _Part(records, candidates, start, end)
            yield from computed_in_parts(part, computed, _Part.halves)

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

    def targets(
        self, _records: DeviceRecords, pairs: DeviceReadPairs
    ) -> tuple[DeviceReadPairs, DeviceTargets]:
        return pairs, self._targets

    def likelihoods(
        self,
        targets: DeviceTargets,
        records: DeviceRecords,
        queries: DeviceQueries,
        rows: GpuArray,
        pairs: DeviceReadPairs,
    ) -> GpuArray:
        return self._likelihoods.at_best_locus(records, queries, rows, pairs, targets.by_locus)

    def samples(self, records: DeviceRecords) -> GpuArray | None:
        return None if self._groups is None else self._groups.samples_of(records)

    def locate(
        self,
        aligned: HaplotypeAlignments[DeviceAlignments],
        queries: DeviceQueries,
        targets: DeviceTargets,
    ) -> OutputAlignments[DeviceRagged]:
        cigars, positions = aligned.alignments.cigars, aligned.alignments.offsets
        tags = mismatch_tags(
            queries.bases, aligned.queries, cigars, positions, targets.sequences, aligned.haplotypes
        )
        ok = cupy.ones(positions.size, dtype=np.bool_)
        return OutputAlignments(ok, aligned.haplotypes, positions, cigars, *tags)

    def records(
        self, records: DeviceRecords, _queries: DeviceQueries, new: NewAlignments[DeviceRagged]
    ) -> Records:
        data, _ = finished_records(records, new, self._contig_names, self._references)
        return download_pinned(data)


@dataclass(frozen=True, slots=True)
class AlignedRecords:
    """n mapped records on the current GPU.

    Attributes
    ----------
    records
        The records.
    bases
        uint8 text, n rows.
    cigars
        uint32 in BAM encoding, n rows.
    spans
        int64[n]: bases of the reference that the CIGARs span.
    """

    records: DeviceRecords
    bases: DeviceRagged
    cigars: DeviceRagged
    spans: GpuArray

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: GpuArray) -> AlignedRecords:
        """Gather records by their numbers, `rows`, int64[r]."""
        return AlignedRecords(
            self.records.take(rows),
            self.bases.take(rows),
            self.cigars.take(rows),
            self.spans[rows],
        )


class _DeviceMoverStages(_DeviceStages):
    """Stages of `Mover`."""

    clip_end_insertions = staticmethod(clip_end_insertions)
    with_hard_clips = staticmethod(with_hard_clips)
    are_same_alignments = staticmethod(are_same_alignments)

    def __init__(self, task: MoveTask, device: CudaDevice) -> None:
        super().__init__(task.options.scoring, device)
        placement, haplotypes = task.placement, task.placement.haplotypes
        self._source = task.source
        self._finder = DevicePairFinder(PairFinder(haplotypes, task.header, task.source))
        extender = Extender(haplotypes, placement.reference, task.header)
        self._extender = DeviceExtender(extender, haplotypes)
        self._placement = DevicePlacement(placement)
        self._likelihoods = DevicePairLikelihoods(device, task.source)

    def find(self, records: DeviceRecords, required: int, excluded: int) -> tuple[_Part, int, int]:
        flags, bases = records.flags, records.layout.base_counts
        is_used = (flags & required == required) & (flags & excluded == 0)
        is_used &= records.positions >= 0
        is_aligned = is_used & (bases > 0) & (records.layout.cigar_lengths > 0)
        candidates = self._finder.find(records, required, excluded)
        candidates = candidates.take(is_aligned[candidates.rows])
        part = _Part(records, candidates, 0, len(candidates))
        return part, int((is_used & (bases == 0)).sum()), len(candidates)

    def in_parts(self, found: _Part, compute: Callable[[_Part], Moves]) -> Iterator[Moves]:
        if len(found.candidates):
            yield from computed_in_parts(found, compute, _Part.halves)

    def aligned(self, found: _Part) -> tuple[AlignedRecords, DeviceReadPairs]:
        records = found.taken()
        bases, cigars = device_queries(records).bases, cigars_of(records)
        aligned = AlignedRecords(records, bases, cigars, record_reference_lengths(records))
        return aligned, found.candidates.pairs(found.start, found.end)

    def clips(self, reads: AlignedRecords) -> Clips:
        return clips_of(reads.records, self._source)

    def extend(
        self, reads: AlignedRecords, clips: Clips, pairs: DeviceReadPairs
    ) -> tuple[DeviceExtended, DeviceReadPairs]:
        positions = reads.records.positions
        starts = positions.astype(np.int64) - clips.leading
        ends = positions + reads.spans + clips.trailing
        needed = self._extender.flanks_needed(
            starts, ends, reads.bases.lengths, pairs.reads, pairs.haplotypes
        )
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return extended, DeviceReadPairs(pairs.offsets, rows)

    def windows(self, extended: DeviceExtended, pairs: DeviceReadPairs) -> GpuArray:
        return extended.windows[pairs.haplotypes[pairs.offsets[:-1]]]

    def rows(self, reads: AlignedRecords) -> tuple[DeviceRagged, DeviceRagged]:
        return reads.bases, reads.cigars

    def old_positions(self, reads: AlignedRecords) -> GpuArray:
        return reads.records.positions

    def costs(
        self,
        reads: AlignedRecords,
        cigars: DeviceRagged,
        positions: GpuArray,
        extended: DeviceExtended,
        windows: GpuArray,
    ) -> AlignmentCosts:
        within = positions - extended.reference_starts[windows]
        return alignment_costs(
            reads.bases, cigars, within, extended.references, windows, self._scoring
        )

    def extended_likelihoods(
        self,
        reads: AlignedRecords,
        rows: GpuArray,
        pairs: DeviceReadPairs,
        extended: DeviceExtended,
        clips: tuple[GpuArray, GpuArray],
    ) -> GpuArray:
        return self._likelihoods.of_extended(reads.records.take(rows), pairs, extended, clips)

    def project(
        self,
        variants: ClipVariants[DeviceRagged],
        best: BestPairs,
        alignments: DeviceAlignments,
        extended: DeviceExtended,
        clip_ends: bool,  # noqa: FBT001  (as in the protocol)
    ) -> Projections[DeviceRagged]:
        return project_alignments(
            variants.bases,
            alignments,
            best.rows,
            self._placement.place(extended),
            (variants.leading[best.variants], variants.trailing[best.variants]),
            queries=best.variants,
            clip_ends=clip_ends,
        )

    def moves(
        self,
        movable: MovableReads[AlignedRecords, DeviceReadPairs, DeviceExtended],
        rows: GpuArray,
        best: BestPairs,
        scores: GpuArray,
        projections: Projections[DeviceRagged],
    ) -> Moves:
        reads, extended = movable.reads, movable.extended
        records = reads.records.take(rows)
        windows = extended.windows[best.rows[rows]]
        cigars, positions = projections.cigars.take(rows), projections.positions[rows]
        distances, mismatches = mismatch_tags(
            reads.bases,
            rows,
            cigars,
            positions - extended.reference_starts[windows],
            extended.references,
            windows,
        )
        ends = positions + reference_lengths(cigars)
        return Moves(
            name_hashes(records).get(),
            records.flags.get(),
            records.reference_ids.get(),
            records.positions.get(),
            (records.positions + reads.spans[rows]).astype(np.int32).get(),
            positions.astype(np.int32).get(),
            ends.astype(np.int32).get(),
            scores[rows].get(),
            best.second_scores[rows].get(),
            distances.get(),
            mismatches.download(),
            cigars.download(),
        )
