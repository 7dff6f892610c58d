"""Reads of any format as columnar batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, cast

from hapgpu.batch import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.bgzf import BgzfReader
from hapgpu.io.decode import read_batches
from hapgpu.io.fastq import read_fastq
from hapgpu.io.file_state import FileState
from hapgpu.io.header import SamHeader
from hapgpu.io.index import find_index, ranges_of
from hapgpu.io.overlap import Intervals
from hapgpu.io.pool import Pool
from hapgpu.io.record_buffer import RecordBuffer, take_header
from hapgpu.io.regions import Region
from hapgpu.io.samtools import ConvertedInput
from hapgpu.io.sniff import ReadFormat, ReadInput, open_input

_MOST_HEADERS_KEPT: Final = 16


class ReadSource(Protocol):
    """Reads in file order; a context manager.

    Attributes
    ----------
    header
        The file's header; that of FASTQ has no references.
    is_fastq
        Whether the reads come without alignments.
    """

    header: SamHeader
    is_fastq: bool

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file, once; each batch owns its arrays.

        Raises
        ------
        InputError
            The file is damaged or cut short.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def open_reads(
    path: str,
    *,
    threads: int = 1,
    batch_bases: int = 4_000_000,
    reference: Path | None = None,
    regions: Sequence[Region] | None = None,
) -> ReadSource:
    """Open reads in BAM, CRAM, SAM or FASTQ, told apart by their first bytes.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    threads
        CPU threads used, the calling one among them.
    batch_bases
        A batch ends with the read that reaches this number of bases.
    reference
        FASTA by which CRAM was compressed, if it needs one.
    regions
        Yield the records that overlap one of these, each once, in file order. A BAM or CRAM
        file is read through its index, SAM and standard input from end to end. The reads of
        FASTQ lie nowhere: all are yielded.

    Raises
    ------
    InputError
        The file cannot be read, is no file of reads or has no index, or its header is damaged
        or lacks a region's contig.
    """
    source = open_input(path)
    try:
        if source.format is ReadFormat.FASTQ:
            return _FastqSource(source, batch_bases)
        if source.format is ReadFormat.BAM:
            return _BamSource(source, threads, batch_bases, regions)
        return _ConvertedSource(source, threads, batch_bases, reference, regions)
    except BaseException:
        source.stream.close()
        raise


class _Closing(ABC):
    """A context manager that closes what its class names in `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...


class _FastqSource(_Closing):
    is_fastq = True

    def __init__(self, source: ReadInput, batch_bases: int) -> None:
        self.header = SamHeader.from_references((), ())
        self._source = source
        self._batch_bases = batch_bases

    def batches(self) -> Iterator[ReadBatch]:
        return read_fastq(cast("BufferedReader", self._source.stream), self._batch_bases)

    def close(self) -> None:
        self._source.stream.close()


class _BamSource(_Closing):
    is_fastq = False

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        batch_bases: int,
        regions: Sequence[Region] | None,
    ) -> None:
        self._source = source
        self._batch_bases = batch_bases
        self._pool = Pool(threads)
        reader = BgzfReader(source.stream, source.name, self._pool)
        self._intervals = None
        if source.path and regions is not None:
            self.header = _header_of(source.path, FileState.of(source.path))
            self._intervals = Intervals.from_regions(regions, self.header, source.name)
            pieces = reader.pieces_of(ranges_of(source.path, self._intervals))
            self._buffer = RecordBuffer(pieces, source.name)
            return
        self._buffer = RecordBuffer(reader.pieces(), source.name)
        self.header = take_header(self._buffer)
        if regions is not None:
            self._intervals = Intervals.from_regions(regions, self.header, source.name)

    def batches(self) -> Iterator[ReadBatch]:
        return read_batches(
            self._buffer,
            len(self.header.reference_names),
            self._batch_bases,
            self._pool,
            self._intervals,
        )

    def close(self) -> None:
        self._pool.close()
        self._source.stream.close()


@lru_cache(_MOST_HEADERS_KEPT)
def _header_of(path: Path, _state: FileState) -> SamHeader:
    """Read the header of a BAM file, once as long as the file stays the same.

    That of an assembly with thousands of contigs takes longer than the reads of a small region.
    """
    with path.open("rb") as stream, Pool(1) as pool:
        return take_header(RecordBuffer(BgzfReader(stream, str(path), pool).pieces(), str(path)))


class _ConvertedSource(_Closing):
    is_fastq = False

    def __init__(
        self,
        source: ReadInput,
        threads: int,
        batch_bases: int,
        reference: Path | None,
        regions: Sequence[Region] | None,
    ) -> None:
        self._source = source
        self._batch_bases = batch_bases
        self._pool = Pool(threads)
        sought = None
        if source.path and source.format is ReadFormat.CRAM and regions is not None:
            find_index(source.path, ("crai", "csi"))
            sought = regions
        self._input = ConvertedInput(source, threads, reference, sought)
        try:
            pieces = BgzfReader(self._input.stream, source.name, self._pool).pieces()
            self._buffer = RecordBuffer(pieces, source.name)
            with self._blaming_samtools():
                self.header = take_header(self._buffer)
            self._intervals = None
            if regions is not None:
                self._intervals = Intervals.from_regions(regions, self.header, source.name)
        except BaseException:
            self.close()
            raise

    def batches(self) -> Iterator[ReadBatch]:
        with self._blaming_samtools():
            yield from read_batches(
                self._buffer,
                len(self.header.reference_names),
                self._batch_bases,
                self._pool,
                self._intervals,
            )
        self._input.check()

    @contextmanager
    def _blaming_samtools(self) -> Iterator[None]:
        """Let a failure of samtools explain the damage that it leaves behind."""
        try:
            yield
        except InputError:
            self._input.check()
            raise

    def close(self) -> None:
        self._input.close()
        self._pool.close()
