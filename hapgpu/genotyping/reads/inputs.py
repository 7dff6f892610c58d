"""Inputs of aligned reads: indexed files opened per group of loci, or streams read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import compress
from operator import ne
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from hapgpu.errors import InputError, UsageError
from hapgpu.genotyping.reads.filters import AnyReadFilter
from hapgpu.genotyping.reads.locus_groups import NO_INTERVALS, LocusIntervals
from hapgpu.genotyping.reads.read_buffer import ReadBuffer, SamplesOf
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.alignments.formats import ReadFormat, open_input
from hapgpu.io.alignments.reader import ReadSource, contigs_with_records, open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice, contig_hint

_STANDARD: Final = "-"
_INDEXED: Final = (ReadFormat.BAM, ReadFormat.CRAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """Options of reading inputs.

    Attributes
    ----------
    threads
        CPU threads for a streamed input, including the calling thread. An indexed input is read by
        as many threads as work on groups.
    batch_bases
        Bases per batch of reads.
    reference
        FASTA that CRAM is compressed against.
    max_record
        Bytes of a record or a header, at most.
    regular_bases
        Whether bases other than A, C, G and T become N.
    """

    threads: int
    batch_bases: int
    reference: Path
    max_record: int = MAX_RECORD
    regular_bases: bool = False


class ContigPart(Protocol):
    """Part of a contig whose reads are read together, such as a `LocusGroup`."""

    @property
    def contig(self) -> str:
        """Name of the contig."""
        ...

    @property
    def counted(self) -> LocusIntervals:
        """Sorted intervals: reads that overlap one of them were counted in an earlier group."""
        ...

    def regions(self) -> list[Region]:
        """Return the intervals whose reads are needed."""
        ...


class AlignedInput(Protocol):
    """Input of reads sorted by position.

    Attributes
    ----------
    name
        Name of the file, for messages.
    header
        Header of the file.
    is_indexed
        Whether groups may be read in any order, and concurrently.
    """

    name: str
    header: SamHeader
    is_indexed: bool

    def at(self, group: Any, read_filter: Any, samples_of: Any) -> AbstractContextManager[Any]:
        """Return a buffer of the reads from the first locus of a group on.

        It may hold other reads too.

        Raises
        ------
        InputError
            The input lacks the contig, is already past it, or cannot be read.
        """
        ...

    def close(self) -> None:
        """Close the input."""


_Input = TypeVar("_Input", bound=AlignedInput)


def open_aligned(path: str, reading: ReadingOptions) -> IndexedInput | StreamedInput:
    """Open a BAM, CRAM or SAM file, or standard input if `path` is `-`.

    Raises
    ------
    InputError
        It cannot be read, holds no alignments or, for a BAM or CRAM file, has no index.
    """
    return IndexedInput(path, reading) if is_indexed(path) else StreamedInput(path, reading)


def is_indexed(path: str) -> bool:
    """Tell whether an input is a file of a format that is read through an index."""
    # Reading the first bytes of a pipe would lose them.
    if path == _STANDARD or not Path(path).is_file():
        return False
    opened = open_input(path)
    opened.stream.close()
    return opened.format in _INDEXED


class IndexedInput:
    """BAM or CRAM file, opened again for each group."""

    is_indexed = True

    def __init__(self, path: str, reading: ReadingOptions) -> None:
        self.name = path
        self.reading = reading
        with self._source([]) as source:
            self.header = source.header

    def contigs_with_reads(self) -> frozenset[str]:
        """Return the names of the contigs at which the file has reads, by its index.

        Raises
        ------
        InputError
            The index is damaged, or is the index of another file.
        """
        names = self.header.reference_names
        found = contigs_with_records(self.name, len(names))
        numbers = self._numbers_of_reads() if found is None else found
        return frozenset(names[number] for number in numbers if number >= 0)

    @contextmanager
    def over(self, groups: Iterable[ContigPart]) -> Iterator[ContinuedInput]:
        """Open the file once for several groups, in the order of the contigs of its header.

        None of the reads of the groups was counted before.

        Raises
        ------
        InputError
            The input lacks a contig, or cannot be read.
        """
        with self._source([region for group in groups for region in group.regions()]) as source:
            yield ContinuedInput(self.name, source)

    def _numbers_of_reads(self) -> set[int]:
        """Read the whole file, which has hardly any reads if its index lists none."""
        with self._source(None) as source:
            batches = (batch.reference_ids for batch in source.batches())
            return {number for batch in batches for number in np.unique(batch).tolist()}

    @contextmanager
    def at(
        self, group: ContigPart, read_filter: AnyReadFilter, samples_of: SamplesOf
    ) -> Iterator[ReadBuffer]:
        """Open the file; see `AlignedInput`."""
        contig = contig_of(self, group.contig)
        with self._source(group.regions()) as source:
            yield ReadBuffer(source, self.name, read_filter, samples_of, contig, group.counted)

    def _source(self, regions: Sequence[Region] | None) -> ReadSource:
        choice = EVERYTHING if regions is None else RegionChoice(tuple(regions))
        return open_reads(
            self.name,
            batch_bases=self.reading.batch_bases,
            reference=self.reading.reference,
            regions=choice,
            max_record=self.reading.max_record,
            regular_bases=self.reading.regular_bases,
        )

    def close(self) -> None:
        """Do nothing: the file is closed after each group."""


class ContinuedInput:
    """Input whose reads are read once, in their order.

    Parameters
    ----------
    name
        Name of the input, for messages.
    source
        Open source, at its first read; closed with this input.
    """

    is_indexed = False

    def __init__(self, name: str, source: ReadSource) -> None:
        self.name = name
        self.header = source.header
        self._source = source
        self._reads: ReadBuffer | None = None

    def at(
        self, group: ContigPart, read_filter: AnyReadFilter, samples_of: SamplesOf
    ) -> AbstractContextManager[ReadBuffer]:
        """Continue the input; see `AlignedInput`."""
        contig = contig_of(self, group.contig)
        reads = self._opened(read_filter, samples_of)
        reads.move_to(contig)
        return nullcontext(reads)

    def has_reads(
        self, contig: str, end: int, read_filter: AnyReadFilter, samples_of: SamplesOf
    ) -> bool:
        """Tell whether there are reads that start before a position of a contig.

        The input is read on until this is known. Contigs are asked for in their order.

        Raises
        ------
        InputError
            The input is already past the contig, or cannot be read.
        """
        number = self.header.reference_id(contig)
        return number is not None and self._opened(read_filter, samples_of).has_reads(number, end)

    def _opened(self, read_filter: AnyReadFilter, samples_of: SamplesOf) -> ReadBuffer:
        if self._reads is None:
            self._reads = ReadBuffer(
                self._source, self.name, read_filter, samples_of, 0, NO_INTERVALS
            )
        return self._reads

    def close(self) -> None:
        """Close the source."""
        self._source.__exit__(None, None, None)


class StreamedInput(ContinuedInput):
    """SAM file, pipe or standard input, which is read once.

    Raises
    ------
    InputError
        It has no alignments, or is damaged.
    """

    def __init__(self, path: str, reading: ReadingOptions) -> None:
        source = open_reads(
            path,
            threads=reading.threads,
            batch_bases=reading.batch_bases,
            reference=reading.reference,
            max_record=reading.max_record,
            regular_bases=reading.regular_bases,
        )
        super().__init__(stream_name(path), source)
        if source.is_fastq:
            self.close()
            raise without_alignments(self.name)


def stream_name(path: str) -> str:
    """Return the name of a stream for messages."""
    return "standard input" if path == _STANDARD else path


def without_alignments(name: str) -> InputError:
    """Return the error for an input of FASTQ."""
    return InputError(f"{name}: FASTQ has no alignments; align its reads first")


def contig_of(file: AlignedInput, contig: str) -> int:
    """Return the number of a contig in the header of an input.

    Raises
    ------
    InputError
        The header lacks it.
    """
    number = file.header.reference_id(contig)
    if number is None:
        hint = contig_hint(contig, file.header.reference_names)
        raise InputError(
            f"{file.name}: no contig '{contig}', which has sites{hint}; "
            "give reads aligned to the same reference"
        )
    return number


class OpenInputs(Generic[_Input]):
    """Open inputs of one run, at least one.

    Parameters
    ----------
    paths
        Files; `-` is standard input.
    open_input
        Opens one of them.
    without_haplotypes
        As in `SampleTable.of`.

    Attributes
    ----------
    table
        The samples of the inputs.

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
        open_input: Callable[[str], _Input],
        *,
        without_haplotypes: bool = False,
    ) -> None:
        _check_distinct(paths)
        self._paths = paths
        with ExitStack() as stack:
            self._inputs: list[_Input] = []
            for path in paths:
                self._inputs.append(open_input(path))
                stack.callback(self._inputs[-1].close)
            headers = [input_.header for input_ in self._inputs]
            self.table = SampleTable.of(headers, paths, without_haplotypes=without_haplotypes)
            self._stack = stack.pop_all()

    def __len__(self) -> int:
        return len(self._inputs)

    def __iter__(self) -> Iterator[_Input]:
        return iter(self._inputs)

    @property
    def are_indexed(self) -> bool:
        """Whether all are read through an index: anywhere, and concurrently."""
        return all(input_.is_indexed for input_ in self._inputs)

    def check_contigs(self, lengths: Mapping[str, int], reference: Path) -> None:
        """Compare the contigs of the inputs and the reference.

        Raises
        ------
        InputError
            A contig of an input has another length in the reference.
        """
        same = tuple(lengths), tuple(lengths.values())
        for input_ in self._inputs:
            names, own = input_.header.reference_names, input_.header.reference_lengths
            if (names, own) == same:
                continue
            differ = map(ne, map(lengths.get, names, own), own)
            for contig, length in compress(zip(names, own, strict=True), differ):
                raise InputError(
                    f"{input_.name}: {contig} has {length:,} bases, but {lengths[contig]:,} in "
                    f"{reference}; give the reference that the reads were aligned to"
                )

    def files(self) -> list[AlignedFile]:
        """Return the inputs as files."""
        inputs = zip(self._inputs, self._paths, strict=True)
        return [AlignedFile(each.name, path, each.header) for each, path in inputs]

    def close(self) -> None:
        """Close all inputs."""
        self._stack.close()


def _check_distinct(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("reads: no file given; give at least one file of aligned reads")
    for number, path in enumerate(paths):
        if any(_is_same_input(path, other) for other in paths[:number]):
            name = stream_name(path)
            raise UsageError(f"{name}: given twice; give each input once")


def _is_same_input(one: str, other: str) -> bool:
    """Return whether two names are the same input, following links."""
    if one == other:
        return True
    is_file = _STANDARD not in {one, other} and Path(one).exists() and Path(other).exists()
    return is_file and Path(one).samefile(other)
