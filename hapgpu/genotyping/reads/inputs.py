"""Inputs of aligned reads: opened at stretches of a contig, or read once from end to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.locus_groups import NO_STRETCHES, LocusGroup
from hapgpu.genotyping.reads.read_buffer import ReadBuffer, SamplesOf
from hapgpu.io.alignments.formats import ReadFormat, open_input
from hapgpu.io.alignments.reader import ReadSource, open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import Region, contig_hint

_INDEXED: Final = (ReadFormat.BAM, ReadFormat.CRAM)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How inputs are read.

    Attributes
    ----------
    threads
        CPU threads for an input that is streamed, the calling one among them. One with an index is
        read by as many threads as there are spans at a time.
    batch_bases
        Bases that are read at a time.
    reference
        FASTA by which CRAM was compressed.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    """

    threads: int
    batch_bases: int
    reference: Path
    max_record: int = MAX_RECORD


class AlignedInput(Protocol):
    """An input of reads in the order of their positions.

    Attributes
    ----------
    name
        For messages.
    header
        Of the file.
    is_indexed
        Spans may be read in any order, and several at the same time.
    """

    name: str
    header: SamHeader
    is_indexed: bool

    def at(
        self, span: LocusGroup, read_filter: ReadFilter, samples_of: SamplesOf
    ) -> AbstractContextManager[ReadBuffer]:
        """Give the reads from the first stretch of a span on.

        Reads elsewhere may come too.

        Raises
        ------
        InputError
            The input lacks the contig, has left it behind, or cannot be read.
        """
        ...

    def close(self) -> None:
        """Close what is open."""


def open_aligned(path: str, reading: ReadingOptions) -> AlignedInput:
    """Open a BAM, CRAM or SAM file, or standard input if `path` is `-`.

    Raises
    ------
    InputError
        It cannot be read, holds no alignments or, if BAM or CRAM in a file, has no index.
    """
    return IndexedInput(path, reading) if _is_indexed(path) else StreamedInput(path, reading)


def _is_indexed(path: str) -> bool:
    # The first bytes of a pipe would be lost by looking at them.
    if path == "-" or not Path(path).is_file():
        return False
    found = open_input(path)
    found.stream.close()
    return found.format in _INDEXED


class IndexedInput:
    """A BAM or CRAM file, opened anew at each span."""

    is_indexed = True

    def __init__(self, path: str, reading: ReadingOptions) -> None:
        self.name = path
        self._reading = reading
        with self._source([]) as source:
            self.header = source.header

    @contextmanager
    def at(
        self, span: LocusGroup, read_filter: ReadFilter, samples_of: SamplesOf
    ) -> Iterator[ReadBuffer]:
        """Open the file; see `AlignedInput`."""
        contig = _contig_of(self, span.contig)
        with self._source(span.regions()) as source:
            yield ReadBuffer(source, self.name, read_filter, samples_of, contig, span.before)

    def _source(self, regions: Sequence[Region]) -> ReadSource:
        return open_reads(
            self.name,
            batch_bases=self._reading.batch_bases,
            reference=self._reading.reference,
            regions=regions,
            max_record=self._reading.max_record,
        )

    def close(self) -> None:
        """Do nothing: the file is closed behind each span."""


class StreamedInput:
    """SAM, a pipe or standard input: what has been read does not come again."""

    is_indexed = False

    def __init__(self, path: str, reading: ReadingOptions) -> None:
        self.name = "standard input" if path == "-" else path
        self._source = open_reads(
            path,
            threads=reading.threads,
            batch_bases=reading.batch_bases,
            reference=reading.reference,
            max_record=reading.max_record,
        )
        self._reads: ReadBuffer | None = None
        self.header = self._source.header
        if self._source.is_fastq:
            self.close()
            raise InputError(f"{self.name} is FASTQ: its reads have to be aligned first")

    def at(
        self, span: LocusGroup, read_filter: ReadFilter, samples_of: SamplesOf
    ) -> AbstractContextManager[ReadBuffer]:
        """Go on in the stream; see `AlignedInput`."""
        contig = _contig_of(self, span.contig)
        if self._reads is None:
            self._reads = ReadBuffer(
                self._source, self.name, read_filter, samples_of, 0, NO_STRETCHES
            )
        self._reads.move_to(contig)
        return nullcontext(self._reads)

    def close(self) -> None:
        """Close the stream."""
        self._source.__exit__(None, None, None)


def _contig_of(file: AlignedInput, contig: str) -> int:
    number = file.header.reference_id(contig)
    if number is None:
        hint = contig_hint(contig, file.header.reference_names)
        raise InputError(
            f"{file.name} has no contig '{contig}', where there are sites{hint}: "
            "give reads aligned to the same reference"
        )
    return number
