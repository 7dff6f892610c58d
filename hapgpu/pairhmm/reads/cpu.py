"""Likelihoods of aligned reads on the CPU: the stages of `scorer`, and the workers of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch, split_batches
from hapgpu.cigar.clips import clips_of
from hapgpu.cigar.encoding import skipped_lengths
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.header import SamHeader
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, TextOutput
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.pairhmm.reads.qualities import check_base_qualities, prepared_parts
from hapgpu.pairhmm.reads.scorer import REMEDY, ScoredPairs, Scorer, ScoringStages, ScoringTask
from hapgpu.pairhmm.reads.tables import HostLikelihoods, Table
from hapgpu.runtime.devices import Device
from hapgpu.runtime.output import Output
from hapgpu.runtime.pool import MAX_IO_THREADS

_PAIRED, _FIRST, _SECOND = 1, 64, 128
_CELLS_PER_BATCH: Final = 10_000_000_000
_BASES_PER_BATCH: Final = 4_000_000
_LIKELIHOODS_PER_BATCH: Final = 400_000  # limits the text of a batch


def host_scorer(
    task: ScoringTask, header: SamHeader, device: Device
) -> Scorer[
    ReadBatch,
    ReadHaplotypePairs,
    LocusHaplotypes,
    PairsByLocus,
    ReadParts,
    HmmReads,
    HmmBatch,
    HostLikelihoods,
]:
    """Return a scorer of reads in host memory.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks; or the reference cannot be read, lacks a
        contig, or ends before a locus.
    """
    haplotypes, options, source = _HostHaplotypes(task, header), task.options, task.reads.path
    stages = ScoringStages(
        find=haplotypes.find,
        check_qualities=partial(check_base_qualities, source=source, remedy=REMEDY),
        extend=haplotypes.extend,
        group=PairsByLocus.of,
        clip=_whole_reads if options.whole_reads else PairsByLocus.clipped_reads,
        prepare=partial(prepared_parts, options=options.qualities, source=source),
        join=PairsByLocus.hmm_batch,
        likelihoods=partial(log10_likelihoods, device=device),
        normalize=_normalized,
        result=_in_input_order,
    )
    return Scorer(stages, is_normalized=options.normalize)


class _HostHaplotypes:
    """The haplotypes of a run, their search and their extension."""

    def __init__(self, task: ScoringTask, header: SamHeader) -> None:
        self._source, self._options = task.reads.path, task.options
        self._by_locus = LocusHaplotypes.of(task.haplotypes)
        self._finder = PairFinder(task.haplotypes, header, self._source)
        self._extender = task.new_extender(header)

    def find(
        self, reads: ReadBatch, counts: Counter[str]
    ) -> Iterator[tuple[ReadBatch, ReadHaplotypePairs]]:
        """Find the haplotypes of reads, in one part."""
        required, excluded = self._options.require_flags, self._options.exclude_flags
        reads = reads.take(reads.has_flags(required, excluded))
        unmapped = reads.flags & UNMAPPED > 0
        empty = ~unmapped & (reads.bases.lengths == 0)
        counts.update(unmapped=int(unmapped.sum()), without_bases=int(empty.sum()))
        reads = reads.take(~unmapped & ~empty)
        pairs = self._finder.find(reads)
        if self._extender is not None:
            # Extended haplotypes have the introns that spliced reads lack.
            spliced = (skipped_lengths(reads.cigars) > 0) & (pairs.counts > 0)
            counts["spliced"] = int(spliced.sum())
            pairs = pairs.without(spliced)
        yield reads.take(pairs.counts > 0), pairs.of_reads_with_any()

    def extend(
        self, reads: ReadBatch, pairs: ReadHaplotypePairs
    ) -> tuple[LocusHaplotypes, ReadHaplotypePairs]:
        """Return the haplotypes as used for the reads, and the pairs with row numbers of these."""
        if self._extender is None:
            return self._by_locus, pairs
        clips = clips_of(reads, self._source)
        needed = self._extender.flanks_needed(reads, clips, pairs.reads, pairs.haplotypes)
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return LocusHaplotypes.of_windows(extended), ReadHaplotypePairs(pairs.offsets, rows)


def _whole_reads(
    overlaps: PairsByLocus, reads: ReadBatch, _haplotypes: LocusHaplotypes
) -> ReadParts:
    return ReadParts.whole(reads, overlaps.reads)


def _normalized(
    likelihoods: NDArray[np.float64], overlaps: PairsByLocus, parts: ReadParts
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    raised, best = normalized(likelihoods, overlaps.counts)
    return raised, is_well_modelled(best, parts.lengths)


def _in_input_order(
    reads: ReadBatch, pairs: ReadHaplotypePairs, scored: ScoredPairs | None
) -> HostLikelihoods:
    in_order, kept = np.empty(len(pairs)), np.zeros(len(pairs), dtype=np.bool_)
    if scored is not None:
        likelihoods, order = scored
        in_order[order], kept[order] = likelihoods, True
    pairs = pairs.take(kept)
    has_any = pairs.counts > 0
    names, mates = reads.names.take(has_any), _mates(reads.flags[has_any])
    return HostLikelihoods(names, mates, pairs.of_reads_with_any(), in_order[kept])


@contextmanager
def opened_on_cpu(
    task: ScoringTask, table: Table, devices: Sequence[Device], threads: int
) -> Iterator[tuple[Iterator[ReadBatch], list[_Worker]]]:
    """Open the reads; return their batches and the workers.

    Raises
    ------
    InputError
        The reads cannot be read or are FASTQ, or as `host_scorer`.
    """
    with open_reads(
        task.reads.path,
        threads=min(threads, MAX_IO_THREADS),
        batch_bases=_bases_per_batch(task.haplotypes),
        reference=task.reference,
        regions=task.reads.regions.or_else(task.haplotypes.loci),
        max_record=task.reads.max_record,
    ) as source:
        if source.is_fastq:
            raise task.without_alignments()
        size = _LIKELIHOODS_PER_BATCH // (table.columns or task.haplotypes.max_candidates)
        workers = [_Worker(task, source.header, table, each) for each in devices]
        yield split_batches(source.batches(), max(1, size)), workers


class _Worker:
    """Worker that compares batches of reads and writes their lines."""

    def __init__(self, task: ScoringTask, header: SamHeader, table: Table, device: Device) -> None:
        self._score = host_scorer(task, header, device)
        self._table = table

    def __call__(self, reads: ReadBatch) -> TextOutput:
        ((scored, counts),) = self._score(reads)
        return Output([self._table.lines(scored)], counts, counts["reads"])


def _mates(flags: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Return uint8[n]: 1 or 2 for the reads of a pair, else 0."""
    number = np.where(flags & _FIRST, 1, np.where(flags & _SECOND, 2, 0))
    return np.where(flags & _PAIRED, number, 0).astype(np.uint8)


def _bases_per_batch(haplotypes: HaplotypeSet) -> int:
    """Return the number of read bases per batch, fewer for more and longer haplotypes."""
    index = np.maximum(haplotypes.locus_index, 0)
    columns = np.bincount(index, weights=haplotypes.sequences.lengths).max()
    return max(1, min(_BASES_PER_BATCH, int(_CELLS_PER_BATCH // columns)))
