"""Likelihoods of BAM records in GPU memory: the stages of `scorer`, and the workers of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from threading import Lock
from typing import Any, Final, Self, TypeAlias

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.cigar.cuda import (
    DeviceReadParts,
    clips_of,
    record_reference_lengths,
    record_skipped_lengths,
)
from hapgpu.haplotypes.pairing.cuda import (
    DeviceCandidates,
    DeviceExtender,
    DevicePairFinder,
    DeviceReadPairs,
)
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads, RecordWorker
from hapgpu.pairhmm.batches import TextOutput
from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch, DeviceHmmReads, normalize
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.reads.cuda.pairs_by_locus import (
    DeviceLocusHaplotypes,
    DevicePairsByLocus,
    count_excluded,
)
from hapgpu.pairhmm.reads.cuda.qualities import check_device_qualities, prepared_device_parts
from hapgpu.pairhmm.reads.cuda.tables import DeviceLikelihoods, DeviceTable, DeviceText
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.pairhmm.reads.scorer import (
    REMEDY,
    ScoredPairs,
    Scorer,
    ScorerOptions,
    ScoringStages,
    ScoringTask,
)
from hapgpu.pairhmm.reads.tables import Table
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, retried, thread_streams
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.gpu_processes import input_memory, opened_workers
from hapgpu.runtime.output import Divided, Output, PartByPart

# Bytes on the GPU that a read takes for each pair and each base: columns of pairs, sorted and
# unsorted, and lists of the pair-HMM; bases and qualities, and coefficients of the pair-HMM.
_BYTES_PER_PAIR: Final = 250
_BYTES_PER_BASE: Final = 40
_MEMORY_SHARE: Final = 8  # the reads of one part may take 1/8 of the memory
_MAX_PART: Final = 1 << 31
_PIECE_BYTES: Final = 36 << 20  # of a BAM to a GPU; with more, the lines take more memory
_MIN_PIECE_BYTES: Final = 1 << 16
_USUAL_CANDIDATES: Final = 8  # pieces are smaller where a locus has more haplotypes
_PART_BYTES: Final = 15 << 20
"""Bytes of a table that are copied to host memory at a time, within 16 MiB of pinned memory."""
_MAX_TEXT_BYTES: Final = 64 << 20
"""Bytes of the lines of a piece; the parts of longer ones are copied as they are written."""
_WORKERS_PER_GPU: Final = 2  # more are slower: they wait for each other in Python


@dataclass(frozen=True, slots=True)
class DeviceHaplotypes:
    """Haplotypes and their loci on one GPU, for all threads; none changes them.

    Attributes
    ----------
    by_locus
        The haplotypes of each locus.
    finder
        The search for the haplotypes of records.
    """

    by_locus: DeviceLocusHaplotypes
    finder: DevicePairFinder

    @classmethod
    def upload(cls, by_locus: LocusHaplotypes, finder: PairFinder) -> Self:
        """Copy haplotypes to the current GPU; the current stream has to be waited for."""
        return cls(DeviceLocusHaplotypes.upload(by_locus), DevicePairFinder(finder))


DeviceScorer: TypeAlias = Scorer[
    DeviceRecords,
    DeviceReadPairs,
    DeviceLocusHaplotypes,
    DevicePairsByLocus,
    DeviceReadParts,
    DeviceHmmReads,
    DeviceHmmBatch,
    DeviceLikelihoods,
]


def device_scorer(
    haplotypes: DeviceHaplotypes,
    extender: DeviceExtender | None,
    options: ScorerOptions,
    device: CudaDevice,
    source: str,
) -> DeviceScorer:
    """Return a scorer of records on a GPU; threads must not share it.

    The likelihoods and counts are those of `host_scorer`. Make and call it with the GPU as the
    current device; it works on the current stream.

    Parameters
    ----------
    haplotypes
        The haplotypes.
    extender
        The extension of the haplotypes; None without.
    options
        Options of the likelihoods.
    device
        The GPU.
    source
        Name of the input, for errors.
    """
    memory = device.memory_budget()
    search = _Search(haplotypes, extender, options, memory, source)
    stages = ScoringStages(
        find=search.find,
        check_qualities=partial(check_device_qualities, source=source, remedy=REMEDY),
        extend=search.extend,
        group=DevicePairsByLocus.of,
        clip=_whole_reads if options.whole_reads else DevicePairsByLocus.clipped_reads,
        prepare=partial(prepared_device_parts, options=options.qualities, source=source),
        join=DevicePairsByLocus.hmm_batch,
        likelihoods=partial(device_log10_likelihoods, device=device, memory_budget=memory),
        normalize=_normalized,
        result=_in_input_order,
    )
    return Scorer(stages, is_normalized=options.normalize)


class _Search:
    """The haplotypes of records, their search and their extension."""

    def __init__(
        self,
        haplotypes: DeviceHaplotypes,
        extender: DeviceExtender | None,
        options: ScorerOptions,
        memory: int,
        source: str,
    ) -> None:
        self._haplotypes = haplotypes
        self._extender = extender
        self._options = options
        self._part_bytes = max(1, min(memory // _MEMORY_SHARE, _MAX_PART))
        self._source = source

    def find(
        self, records: DeviceRecords, counts: Counter[str]
    ) -> Iterator[tuple[DeviceRecords, DeviceReadPairs]]:
        """Find the haplotypes of records, in at least one part that fits the memory."""
        required, excluded = self._options.require_flags, self._options.exclude_flags
        unmapped, without_bases = count_excluded(records, required, excluded)
        counts.update(unmapped=unmapped, without_bases=without_bases)
        candidates = self._haplotypes.finder.find(
            records, required, excluded | UNMAPPED, needs_bases=True
        )
        if self._extender is not None:
            # Extended haplotypes have the introns that spliced reads lack.
            is_spliced = record_skipped_lengths(records.take(candidates.rows)) > 0
            counts["spliced"] = int(is_spliced.sum())
            candidates = candidates.take(~is_spliced)
        for start, end in pairwise(self._bounds(candidates, records)):
            is_all = end - start == len(records)
            part = records if is_all else records.take(candidates.rows[start:end])
            yield part, candidates.pairs(start, end)

    def _bounds(self, candidates: DeviceCandidates, records: DeviceRecords) -> list[int]:
        """Return the bounds of parts of limited memory; there is one part at least."""
        count = len(candidates)
        bases = records.layout.base_counts[candidates.rows].astype(np.int64)
        ends = cupy.cumsum(_BYTES_PER_PAIR * candidates.counts + _BYTES_PER_BASE * bases)
        total = int(ends[-1]) if count else 0
        if total <= self._part_bytes:
            return [0, count]
        limits = cupy.arange(self._part_bytes, total, self._part_bytes)
        inner = cupy.searchsorted(ends, limits, side="right").get().tolist()
        return [0, *sorted({bound for bound in inner if 0 < bound < count}), count]

    def extend(
        self, records: DeviceRecords, pairs: DeviceReadPairs
    ) -> tuple[DeviceLocusHaplotypes, DeviceReadPairs]:
        """Return the haplotypes as used for the reads, and the pairs with row numbers of these."""
        if self._extender is None:
            return self._haplotypes.by_locus, pairs
        clips = clips_of(records, self._source)
        spans, positions = record_reference_lengths(records), records.positions.astype(np.int64)
        needed = self._extender.flanks_needed(
            positions - clips.leading,
            positions + spans + clips.trailing,
            records.layout.base_counts,
            pairs.reads,
            pairs.haplotypes,
        )
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return DeviceLocusHaplotypes.of_windows(extended), DeviceReadPairs(pairs.offsets, rows)


def _whole_reads(
    overlaps: DevicePairsByLocus, records: DeviceRecords, _haplotypes: DeviceLocusHaplotypes
) -> DeviceReadParts:
    return DeviceReadParts.whole(records, overlaps.reads)


def _normalized(
    likelihoods: GpuArray, overlaps: DevicePairsByLocus, parts: DeviceReadParts
) -> tuple[GpuArray, GpuArray]:
    return likelihoods, normalize(likelihoods, overlaps.offsets, parts.lengths)


def _in_input_order(
    records: DeviceRecords, pairs: DeviceReadPairs, scored: ScoredPairs | None
) -> DeviceLikelihoods:
    reads, haplotypes = pairs.reads, pairs.haplotypes
    in_order = cupy.empty(len(pairs), dtype=np.float64)
    if scored is not None:
        likelihoods, order = scored
        in_order[order] = likelihoods
        if order.size < len(pairs):
            is_kept = cupy.zeros(len(pairs), dtype=np.bool_)
            is_kept[order] = True
            reads, haplotypes, in_order = reads[is_kept], haplotypes[is_kept], in_order[is_kept]
    return DeviceLikelihoods(records, reads, haplotypes, in_order)


class _LineMaker:
    """Computes the likelihoods of records and writes their lines, on the current GPU."""

    def __init__(self, scorer: DeviceScorer, table: DeviceTable, device: CudaDevice) -> None:
        self._scorer = scorer
        self._table = table
        self._device = device

    def __call__(self, records: DeviceRecords) -> TextOutput:
        return _joined(
            [
                Output(self._parts(self._table.text(likelihoods)), counts, counts["reads"])
                for likelihoods, counts in self._scorer(records)
            ]
        )

    def _parts(self, text: DeviceText) -> Iterable[NDArray[np.uint8]]:
        if text.size > _MAX_TEXT_BYTES:
            return self._later(text)
        return list(text.parts(_PART_BYTES))

    def _later(self, text: DeviceText) -> Iterator[NDArray[np.uint8]]:
        """Yield the parts of a text in another thread."""
        index = self._device.index
        stream = thread_streams(index, 1, urgent=True)[0]
        parts = text.parts(_PART_BYTES)
        while True:
            with device_errors(self._device), cupy.cuda.Device(index), stream:
                part = next(parts, None)
            if part is None:
                return
            yield part


def _joined(results: Sequence[TextOutput]) -> TextOutput:
    """Join the results of consecutive records."""
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.counts)
    texts = [result.content for result in results]
    return Output(chain.from_iterable(texts), counts, counts["reads"])


_Worker: TypeAlias = Callable[[DevicePiece], "TextOutput | Divided[Any, TextOutput]"]


@contextmanager
def opened_on_gpus(
    task: ScoringTask, table: Table, devices: Sequence[CudaDevice], threads: int, processes: int
) -> Iterator[tuple[Iterator[DevicePiece], list[_Worker]]]:
    """Open the reads; return pieces of their records and the workers.

    `processes` is the result of `gpu_processes`.

    The parts of a long text are made as they are iterated over, so that they are not in memory
    together.

    Raises
    ------
    InputError
        The reads cannot be read or are FASTQ, a locus is on a contig that the header lacks, or the
        reference cannot be read, lacks a contig, or ends before a locus.
    DeviceError
        A GPU fails.
    """
    with open_device_reads(
        task.reads.path,
        devices,
        threads=threads,
        piece_bytes=_piece_bytes(task.haplotypes),
        reference=task.reference,
        regions=task.reads.regions.or_else(task.haplotypes.loci),
        max_record=task.reads.max_record,
        allocate=input_memory(processes),
    ) as reads:
        if not isinstance(reads, DeviceReads):
            raise task.without_alignments()
        by_locus = LocusHaplotypes.of(task.haplotypes)
        finder = PairFinder(task.haplotypes, reads.header, task.reads.path)
        tables = _Tables(by_locus, finder, table)

        def prepare(device: CudaDevice) -> _LineMaker:
            host_extender = task.new_extender(reads.header)
            extender = DeviceExtender(host_extender, task.haplotypes) if host_extender else None
            haplotypes, device_table = tables.on(device)
            scorer = device_scorer(haplotypes, extender, task.options, device, task.reads.path)
            return _LineMaker(scorer, device_table, device)

        def open_worker(device: CudaDevice) -> _Worker:
            worker = RecordWorker(reads, device, prepare, _joined)
            return worker if processes == 1 else PartByPart(worker)

        gpus = [gpu for gpu in devices for _ in range(_WORKERS_PER_GPU)]
        yield reads.pieces(), opened_workers(gpus, open_worker, processes)


class _Tables:
    """The haplotypes and the table of a run on each GPU, which its workers share."""

    def __init__(self, by_locus: LocusHaplotypes, finder: PairFinder, table: Table) -> None:
        self._haplotypes = by_locus, finder
        self._table = table
        self._lock = Lock()
        self._copies: dict[int, tuple[DeviceHaplotypes, DeviceTable]] = {}

    def on(self, device: CudaDevice) -> tuple[DeviceHaplotypes, DeviceTable]:
        """Return them on a GPU, the current device; they are copied at the first call."""
        with self._lock:
            if device.index not in self._copies:
                haplotypes = retried(lambda: DeviceHaplotypes.upload(*self._haplotypes))
                self._copies[device.index] = haplotypes, DeviceTable(self._table)
                cupy.cuda.get_current_stream().synchronize()  # others use other streams
            return self._copies[device.index]


def _piece_bytes(haplotypes: HaplotypeSet) -> int:
    """Return the bytes of a BAM to compute at a time, fewer for more haplotypes."""
    candidates = max(haplotypes.max_candidates, _USUAL_CANDIDATES)
    return max(_USUAL_CANDIDATES * _PIECE_BYTES // candidates, _MIN_PIECE_BYTES)
