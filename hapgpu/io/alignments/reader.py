"""Sources of reads in any format, as columnar batches, and the reads that a run uses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.alignments.formats import (
    OpenedInput,
    ReadFormat,
    ReadInput,
    open_head,
    open_input,
    recognised,
)
from hapgpu.io.alignments.index_files import contigs_in_bins, contigs_in_slices
from hapgpu.io.alignments.packed import index_for, index_of, packed_bam, packed_conversion
from hapgpu.io.alignments.samtools_convert import ConvertedInput
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.bam.record_reader import (
    PackedSource,
    RecordReader,
    piece_reader,
    to_batch,
    to_regular_batch,
)
from hapgpu.io.fastx.fastq import read_fastq
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.inputs import expect_file, note_position
from hapgpu.runtime.pool import Pool

_Converted = TypeVar("_Converted")


@dataclass(frozen=True, slots=True)
class ReadSelection:
    """A file of reads and the regions whose reads are used.

    Attributes
    ----------
    path
        A file, or `-` for standard input.
    regions
        The regions, if the user gave any.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    """

    path: str
    regions: RegionChoice
    max_record: int


class ReadSource(Closeable):
    """Source of reads in file order; a context manager.

    Attributes
    ----------
    header
        Header of the file; for FASTQ, a header without contigs.
    is_fastq
        Whether the reads have no alignments.
    is_sorted
        Whether the header, or an index beside the file, says that records are sorted.
    """

    header: SamHeader
    is_fastq = False
    is_sorted = False

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file, once; each batch owns its arrays.

        Raises
        ------
        InputError
            The file is damaged or truncated.
        """
        return self.converted(to_batch)

    def blocks(self) -> Iterator[RecordBlock]:
        """Read the file, once, as records; each block owns its arrays.

        Raises
        ------
        InputError
            The file is damaged or truncated.
        """
        return self.converted(RecordBlock.copied)

    @abstractmethod
    def converted(self, convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        """Read the file, once; yield the results of a function of its records, in file order.

        Parameters
        ----------
        convert
            Called in the threads that read, in any order, and also with records that are then
            discarded: it must have no other effect. Its result must not share memory with the
            records.

        Raises
        ------
        InputError
            The file is damaged or truncated, or is FASTQ.
        """


def open_reads(
    path: str | OpenedInput,
    *,
    threads: int = 1,
    batch_bases: int = 4_000_000,
    reference: Path | None = None,
    regions: RegionChoice = EVERYTHING,
    needs_index: bool = True,
    name: str | None = None,
    max_record: int = MAX_RECORD,
    takes_empty: bool = False,
    regular_bases: bool = False,
) -> ReadSource:
    """Open reads in BAM, CRAM, SAM or FASTQ, recognised by their first bytes.

    Parameters
    ----------
    path
        A file, `-` for standard input, or an input whose head has been read.
    threads
        CPU threads that decode; above 1, the calling thread only reads the file.
    batch_bases
        A batch ends with the read that reaches this number of bases.
    reference
        FASTA with which CRAM was compressed, if needed.
    regions
        Yield the records that overlap these regions, each once, in file order. A BAM or CRAM file
        is read through its index, SAM and standard input from start to end. Reads of FASTQ have no
        position: all are yielded.
    needs_index
        With regions, raise an error for a BAM or CRAM file without index; otherwise read it from
        start to end.
    name
        Name of the input for messages; by default its path.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    takes_empty
        Read an empty input as FASTQ without reads, with a warning.
    regular_bases
        Make batches of BAM, CRAM and SAM with N for bases other than A, C, G and T.

    Raises
    ------
    InputError
        The file cannot be read, has no reads or no index, or its header is damaged, too long, or
        lacks the contig of a region.
    UsageError
        A region is malformed, or has two meanings with the contigs of the file.
    """
    opened = path if isinstance(path, OpenedInput) else open_head(path, name)
    source = recognised(opened, max_record, takes_empty=takes_empty)
    if source.format is ReadFormat.FASTQ:
        return FastqSource(source, batch_bases)
    index = index_for(source, regions, needs_index=needs_index)
    is_bam = source.format is ReadFormat.BAM
    with ExitStack() as stack:
        if is_bam:
            stack.callback(source.stream.close)
        pool = stack.enter_context(Pool(threads, caller_works=False))
        if is_bam:
            reader = piece_reader(source.stream, source.name, batch_bases)
            packed = packed_bam(source, reader, regions, index)
        else:
            # It closes the stream itself, also if it fails: its feeder may wait for the stream.
            samtools = ConvertedInput(source, threads, reference, regions, index)
            stack.callback(samtools.close)
            reader = piece_reader(samtools.stream, source.name, batch_bases)
            packed = packed_conversion(source, samtools, reader, regions)
        convert = to_regular_batch if regular_bases else to_batch
        return _RecordSource(packed, pool, batch_bases, stack.pop_all().close, convert)


def contigs_with_records(
    path: str, contigs: int, *, needs_index: bool = True
) -> frozenset[int] | None:
    """Return the numbers of the contigs at which a BAM or CRAM file has records, by its index.

    Parameters
    ----------
    path
        The file.
    contigs
        Number of contigs in its header.
    needs_index
        As in `open_reads`.

    Returns
    -------
    frozenset of int or None
        None if the index does not tell, as for a CRAM file without records, or if there is none.

    Raises
    ------
    InputError
        The file cannot be read, or its index is missing, damaged, or of another file.
    """
    source = open_input(path)
    source.stream.close()
    index = index_of(source, needs_index=needs_index)
    if index is None:
        return None
    if source.format is ReadFormat.BAM:
        return frozenset(contigs_in_bins(Path(path), contigs).tolist())
    return contigs_in_slices(index, Path(path), contigs)


class FastqSource(ReadSource):
    """Source of reads in FASTQ.

    Parameters
    ----------
    source
        The file or the stream; closed with this source.
    batch_bases
        A batch ends with the read that reaches this number of bases.
    """

    is_fastq = True

    def __init__(self, source: ReadInput, batch_bases: int) -> None:
        self.header = SamHeader.from_references((), ())
        self._source = source
        self._batch_bases = batch_bases

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file, once; each batch owns its arrays."""
        source = self._source
        stream = source.stream
        if source.path:
            expect_file(source.name, source.path)
        for batch in read_fastq(stream, self._batch_bases, source.max_record, source.name):
            if source.path:
                note_position(source.name, stream.tell())
            yield batch

    def converted(self, _convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        """Raise an error: there are no records.

        Raises
        ------
        InputError
            Always; the message names the file.
        """
        raise InputError(f"{self._source.name}: FASTQ has no alignments; give BAM, CRAM or SAM")

    def close(self) -> None:
        """Close the file."""
        self._source.stream.close()


class _RecordSource(ReadSource):
    """Source of the records of BAM, CRAM or SAM."""

    def __init__(
        self,
        packed: PackedSource,
        pool: Pool,
        batch_bases: int,
        release: Callable[[], None],
        convert: Callable[[RecordBlock], ReadBatch],
    ) -> None:
        self.header = packed.header
        self.is_sorted = packed.is_sorted
        self._packed = packed
        self._reader = RecordReader(packed.pieces, packed.name, packed.max_record, pool)
        self._batch_bases = batch_bases
        self._release = release
        self._to_batch = convert

    def batches(self) -> Iterator[ReadBatch]:
        return self.converted(self._to_batch)

    def converted(self, convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        def counted(block: RecordBlock) -> tuple[int, _Converted]:
            return len(block), convert(block)

        packed, done = self._packed, 0
        try:
            for count, records in self._reader.converted(
                counted, len(self.header.reference_names), self._batch_bases, packed.intervals
            ):
                done += count
                yield records
        except InputError as error:
            packed.explain(error, done)
            raise
        packed.check_end(done)

    def close(self) -> None:
        self._release()
