"""Sources of reads in any format, as columnar batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar, cast

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.alignments.converted_reads import ConvertedSource
from hapgpu.io.alignments.formats import (
    OpenedInput,
    ReadFormat,
    ReadInput,
    open_head,
    open_input,
    recognised,
)
from hapgpu.io.alignments.index.crai import contigs_in_slices, has_entries
from hapgpu.io.alignments.index.file_state import FileState
from hapgpu.io.alignments.index.open import (
    contigs_in_bins,
    find_index,
    has_index,
    index_mismatch,
    ranges_of,
)
from hapgpu.io.alignments.source import INDEX_KINDS, Closeable, is_sorted
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_reader import RecordReader, piece_reader, to_batch
from hapgpu.io.bgzf.block_table import DamagedBlockError
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.fastx.fastq import read_fastq
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.runtime.inputs import expect_file, note_position
from hapgpu.runtime.pool import Pool

_MAX_HEADERS_KEPT: Final = 16
_Converted = TypeVar("_Converted")


class ReadSource(Protocol):
    """Source of reads in file order; a context manager.

    Attributes
    ----------
    header
        Header of the file; for FASTQ, a header without contigs.
    is_fastq
        Whether the reads have no alignments.
    """

    header: SamHeader
    is_fastq: bool

    @property
    def is_sorted(self) -> bool:
        """Whether the header, or an index beside the file, says that records are sorted."""

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file, once; each batch owns its arrays.

        Raises
        ------
        InputError
            The file is damaged or truncated.
        """

    def blocks(self) -> Iterator[RecordBlock]:
        """Read the file, once, as records; each block owns its arrays.

        Raises
        ------
        InputError
            The file is damaged or truncated.
        """

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
            The file is damaged or truncated.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


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
    try:
        is_partial = not regions.is_everything
        index = index_of(source, needs_index=needs_index) if is_partial else None
    except BaseException:
        source.stream.close()
        raise
    if source.format is ReadFormat.BAM:
        return _BamSource(source, threads, batch_bases, regions, index)
    return ConvertedSource(source, threads, batch_bases, reference, regions, index)


def contigs_with_records(path: str, contigs: int) -> frozenset[int] | None:
    """Return the numbers of the contigs at which a BAM or CRAM file has records, by its index.

    Parameters
    ----------
    path
        The file.
    contigs
        Number of contigs in its header.

    Returns
    -------
    frozenset of int or None
        None if the index does not tell, as for a CRAM file without records.

    Raises
    ------
    InputError
        The file cannot be read, or its index is missing, damaged, or of another file.
    """
    source = open_input(path)
    source.stream.close()
    index = index_of(source, needs_index=True)
    if index is None:
        return None
    if source.format is ReadFormat.BAM:
        return frozenset(contigs_in_bins(Path(path), contigs).tolist())
    return contigs_in_slices(index, Path(path), contigs)


def index_of(source: ReadInput, *, needs_index: bool) -> Path | None:
    """Find the index through which records of regions are read; None to read the whole file."""
    kinds = INDEX_KINDS[source.format]
    if not (source.path and kinds) or not (needs_index or has_index(source.path, kinds)):
        return None
    index = find_index(source.path, kinds)
    is_usable = source.format is ReadFormat.BAM or has_entries(index, source.path)
    return index if is_usable else None


class FastqSource(Closeable):
    """Source of reads in FASTQ: a `ReadSource`.

    Parameters
    ----------
    source
        The file or the stream; closed with this source.
    batch_bases
        A batch ends with the read that reaches this number of bases.
    """

    is_fastq = True
    is_sorted = False

    def __init__(self, source: ReadInput, batch_bases: int) -> None:
        self.header = SamHeader.from_references((), ())
        self._source = source
        self._batch_bases = batch_bases

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file, once; each batch owns its arrays."""
        source = self._source
        stream = cast("BufferedReader", source.stream)
        if source.path:
            expect_file(source.name, source.path)
        for batch in read_fastq(stream, self._batch_bases, source.max_record, source.name):
            if source.path:
                note_position(source.name, stream.tell())
            yield batch

    def blocks(self) -> Iterator[RecordBlock]:
        """Raise an error: there are no records."""
        return self.converted(RecordBlock.copied)

    def converted(self, _convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        """Raise an error: there are no records."""
        raise InputError(f"{self._source.name}: FASTQ has no alignments; give BAM, CRAM or SAM")

    def close(self) -> None:
        """Close the file."""
        self._source.stream.close()


class _BamSource(Closeable):
    is_fastq = False

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        batch_bases: int,
        regions: RegionChoice,
        index: Path | None,
    ) -> None:
        self._source = source
        self._batch_bases = batch_bases
        self._intervals = None
        self._index = index
        with ExitStack() as stack:
            stack.callback(source.stream.close)
            self._pool = stack.enter_context(Pool(threads, caller_works=False))
            reader = piece_reader(source.stream, source.name, batch_bases)
            if source.path and index:
                self.header = header_of(source.path, FileState.of(source.path), source.max_record)
                self._intervals = Intervals.from_choice(regions, self.header, source.name)
                chosen = cast("Intervals", self._intervals)  # an index is only used with regions
                pieces = reader.pieces_of(ranges_of(source.path, chosen))
                self._reader = self._reader_of(pieces)
            else:
                if source.path:
                    expect_file(source.name, source.path)
                self._reader = self._reader_of(reader.pieces())
                self.header = self._reader.take_header()
                self._intervals = Intervals.from_choice(regions, self.header, source.name)
            self._stack = stack.pop_all()

    @property
    def is_sorted(self) -> bool:
        return is_sorted(self._source, self.header)

    def batches(self) -> Iterator[ReadBatch]:
        return self.converted(to_batch)

    def blocks(self) -> Iterator[RecordBlock]:
        return self.converted(RecordBlock.copied)

    def _reader_of(self, pieces: Iterator[PackedPiece]) -> RecordReader:
        return RecordReader(pieces, self._source.name, self._source.max_record, self._pool)

    def converted(self, convert: Callable[[RecordBlock], _Converted]) -> Iterator[_Converted]:
        # An error that an index causes is replaced by one that names the index.
        references = len(self.header.reference_names)
        try:
            yield from self._reader.converted(
                convert, references, self._batch_bases, self._intervals
            )
        except DamagedBlockError:
            raise
        except InputError as error:
            if self._index is None or self._source.path is None:
                raise
            reason = str(error).rsplit("; ", 1)[0]  # without the remedy
            raise index_mismatch(self._index, self._source.path, f"or {reason}") from error

    def close(self) -> None:
        self._stack.close()


@lru_cache(_MAX_HEADERS_KEPT)
def header_of(path: Path, _state: FileState, max_record: int) -> SamHeader:
    """Read the header of a BAM file, once while the file is unchanged.

    The header of an assembly with thousands of contigs takes longer than the reads of a small
    region.
    """
    with path.open("rb") as stream, Pool(1) as pool:
        pieces = piece_reader(stream, str(path), 1).pieces()
        return RecordReader(pieces, str(path), max_record, pool).take_header()
