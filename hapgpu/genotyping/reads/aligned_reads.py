"""The reads of all inputs at each batch of loci."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.errors import InputError, UsageError
from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.reads.filters import FilterOptions, ReadFilter
from hapgpu.genotyping.reads.inputs import ReadingOptions, open_aligned
from hapgpu.genotyping.reads.locus_groups import LocusGroup, LocusIntervals, spans_of
from hapgpu.genotyping.reads.read_buffer import ReadBuffer
from hapgpu.genotyping.reads.samples import SampleTable
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.pool import MAX_IO_THREADS

_MAX_BASES: Final = 8_000_000
"""Bases of reads of a span that are held before loci are handed out as soon as complete."""
_BATCH_BASES: Final = (65_536, 4_000_000)
_STANDARD: Final = "-"
_NO_READS: Final = ReadColumns.empty(*[np.empty(0, dtype=np.int32)] * 4).to_batch()


@dataclass(frozen=True, slots=True)
class SpanReads:
    """The reads at a span of loci, read when they are gone through, by whichever thread does."""

    span: LocusGroup
    read: Callable[[LocusGroup], Iterator[LocusReads]]

    def __iter__(self) -> Iterator[LocusReads]:
        return self.read(self.span)


class AlignedReads:
    """Reads of one or several BAM, CRAM and SAM inputs at loci; a context manager.

    Parameters
    ----------
    paths
        Files, at least one; `-` is standard input.
    threads
        CPU threads to read streams with, the calling one among them.
    reference
        FASTA by which CRAM was compressed.
    rules
        Which reads are kept, and how far around a locus.
    max_bases
        How many bases a span may hold before loci are handed out in small numbers.
    max_record
        Bytes of the longest record, and of the longest header, that is read.

    Attributes
    ----------
    samples
        All samples, in the order of the inputs and their headers.

    Raises
    ------
    InputError
        An input cannot be read, has no index or holds no alignments.
    UsageError
        An input is given twice, or none at all.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        threads: int,
        reference: Path,
        rules: FilterOptions,
        max_bases: int = _MAX_BASES,
        max_record: int = MAX_RECORD,
    ) -> None:
        _check_distinct(paths)
        self._reference = reference
        self._margin = rules.margin
        self._max_bases = max_bases
        self._filter = ReadFilter(rules)
        reading = ReadingOptions(
            threads=1 + (min(threads, MAX_IO_THREADS) - 1) // len(paths),
            batch_bases=int(np.clip(max_bases // (4 * len(paths)), *_BATCH_BASES)),
            reference=reference,
            max_record=max_record,
        )
        with ExitStack() as stack:
            self._inputs = []
            for path in paths:
                self._inputs.append(open_aligned(path, reading))
                stack.callback(self._inputs[-1].close)
            headers = [each.header for each in self._inputs]
            self._table = SampleTable.of(headers, paths)
            self._stack = stack.pop_all()

    @property
    def samples(self) -> tuple[str, ...]:
        """All samples, in the order of the inputs and their headers."""
        return self._table.names

    @property
    def counts(self) -> Mapping[str, int]:
        """Reads so far, and how many were left out why: see `ReadFilter`.

        Of files with an index, the reads at the loci are counted, of others all that were read.
        """
        return self._filter.counts

    def check_contigs(self, lengths: Mapping[str, int]) -> None:
        """Compare the contigs of the inputs with those of the reference.

        Raises
        ------
        InputError
            A contig of an input has another length in the reference.
        """
        for each in self._inputs:
            header = each.header
            for contig, length in zip(
                header.reference_names, header.reference_lengths, strict=True
            ):
                if lengths.get(contig, length) != length:
                    raise InputError(
                        f"{each.name}: {contig} has {length:,} bases, but {lengths[contig]:,} in "
                        f"{self._reference}: give the reference that the reads were aligned to"
                    )

    @property
    def is_indexed(self) -> bool:
        """Whether the inputs are read where spans are gone through; else where they are made."""
        return all(each.is_indexed for each in self._inputs)

    def at(self, batches: Iterator[LocusBatch]) -> Iterator[Iterable[LocusReads]]:
        """Yield spans of loci in their order, with all kept reads that overlap one or its margin.

        Each span is to be gone through once. If all inputs are indexed, it is read then, whatever
        the order and the thread, and what goes wrong is raised there. Where reads lie deep, a batch
        is handed out in slices. The reads are in the order of the inputs, and in that of each
        input.

        Parameters
        ----------
        batches
            With at least one locus each; their contigs come one after the other, those of inputs
            that are streamed in the order of the header.

        Raises
        ------
        InputError
            An input lacks a contig, is not sorted, is damaged, or is streamed and has passed a
            contig already.
        """
        for span in spans_of(batches, self._margin):
            if self.is_indexed:
                yield SpanReads(span, self._read)
            else:
                yield from ([found] for found in self._read(span))

    def _read(self, span: LocusGroup) -> Iterator[LocusReads]:
        with ExitStack() as stack:
            inputs = [
                stack.enter_context(
                    each.at(span, self._filter, partial(self._table.samples_of, file))
                )
                for file, each in enumerate(self._inputs)
            ]
            for (batch, stretches), behind in zip(span.batches, span.lows(), strict=True):
                yield from self._slices(inputs, batch, stretches, behind)

    def _slices(
        self, inputs: list[ReadBuffer], batch: LocusBatch, stretches: LocusIntervals, behind: int
    ) -> Iterator[LocusReads]:
        """Hand out a batch, if need be in slices; forget what no locus needs any more."""
        lows, reach = stretches.lows(behind), stretches.reach
        done, count = 0, len(batch.loci)
        while done < count:
            for each in inputs:
                each.forget(int(lows[done]))
            stop = self._read_on(inputs, reach, done)
            part = batch if stop - done == count else batch.slice(done, stop)
            yield _gathered(inputs, part, stretches.slice(done, stop))
            done = stop

    def _read_on(self, inputs: list[ReadBuffer], reach: NDArray[np.int64], done: int) -> int:
        """Read until all loci from `done` on are complete, or some are and the budget is spent.

        Return the first that is not complete.
        """
        while True:
            slowest = min(inputs, key=lambda each: each.frontier)
            complete = int(np.searchsorted(reach, slowest.frontier, side="right"))
            if complete == reach.size:
                return complete
            if complete > done and sum(each.bases for each in inputs) > self._max_bases:
                return complete
            slowest.read_on()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


def _check_distinct(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("no reads are given: name at least one file of aligned reads")
    for place, path in enumerate(paths):
        if any(_are_the_same(path, other) for other in paths[:place]):
            name = "standard input" if path == _STANDARD else path
            raise UsageError(f"{name} is given twice: its reads would count twice")


def _are_the_same(one: str, other: str) -> bool:
    """Tell whether two names are those of one input, whatever links lead there."""
    if one == other:
        return True
    is_file = _STANDARD not in {one, other} and Path(one).exists() and Path(other).exists()
    return is_file and Path(one).samefile(other)


def _gathered(inputs: list[ReadBuffer], batch: LocusBatch, stretches: LocusIntervals) -> LocusReads:
    ordered = stretches.sorted()
    starts, reach = ordered.starts, ordered.reach
    met = [(file, held) for file, each in enumerate(inputs) for held in each.at(starts, reach)]
    if not met:
        nobody = np.empty(0, dtype=np.int32)
        return LocusReads(batch, _NO_READS, nobody, nobody)
    parts = [held.reads for _, held in met]
    return LocusReads(
        batch,
        ReadBatch.concatenate(parts) if len(parts) > 1 else parts[0],
        np.concatenate([held.samples for _, held in met]),
        np.concatenate([np.full(len(held.reads), file, dtype=np.int32) for file, held in met]),
    )
