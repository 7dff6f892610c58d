"""Reader of the records of a BAM file, in pieces decoded by several threads.

A thread decodes a piece before the end of the piece before is known: it guesses the first record.
In file order, the records of a piece then count only if its first record is where the records
before end; otherwise the piece is decoded again from there. So the guess decides only the speed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Generic

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.bam.decode import REGULAR_PAIRS, decode_block
from hapgpu.io.bam.header import RecordBuffer, SamHeader, take_header
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.piece_decoder import Part, PieceDecoder, PieceRecords
from hapgpu.io.bam.record_layout import INCOMPLETE, SOUND, RecordBlock, reading_fault
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES, BlockTable
from hapgpu.io.bgzf.pieces import PackedPiece, PieceReader, Readable, inflated_blocks
from hapgpu.runtime.pool import Pool, Task

_BYTES_PER_BASE: Final = 2  # of inflated short reads with tags; long reads have fewer
_READ_BYTES: Final = 4 << 20
_WAITING_BYTES: Final = 32 << 20  # of the content of pieces that wait for a thread
_MIN_WAITING: Final = 2
_ALONE: Final = Pool(1)


def piece_reader(stream: Readable, name: str, batch_bases: int) -> PieceReader:
    """Return a reader of pieces that hold about as many bases as a batch."""
    inflated = max(_BYTES_PER_BASE * batch_bases, MAX_BLOCK_BYTES)
    packed = max(_READ_BYTES, inflated)
    return PieceReader(stream, name, packed_bytes=packed, inflated_bytes=inflated)


def to_batch(block: RecordBlock) -> ReadBatch:
    """Convert records to columns, in the calling thread."""
    return decode_block(block, _ALONE)


def to_regular_batch(block: RecordBlock) -> ReadBatch:
    """Convert records as `to_batch`, with N for bases other than A, C, G and T."""
    return decode_block(block, _ALONE, REGULAR_PAIRS)


@dataclass(frozen=True, slots=True)
class _Job(Generic[Part]):
    """A piece, the offset of its first record if it is known, and the task that decodes it."""

    piece: PackedPiece
    start: int | None
    task: Task[PieceRecords[Part]]


@dataclass(frozen=True, slots=True)
class PackedSource:
    """A file of BAM, opened, whose header was read.

    Attributes
    ----------
    name
        Its name for messages.
    header
        Its header.
    pieces
        The pieces after the header, or those of `intervals` from an index.
    intervals
        Records that overlap none of these are left out.
    max_record
        Bytes of the longest record.
    is_sorted
        Whether the header, or an index beside the file, says that records are sorted.
    explain
        Called with an error of the reader and the number of records before it; raises an error
        that explains it, if there is one.
    check_end
        Called once with the number of records, after the last of them.
    """

    name: str
    header: SamHeader
    pieces: Iterator[PackedPiece]
    intervals: Intervals | None
    max_record: int
    is_sorted: bool
    explain: Callable[[InputError, int], None]
    check_end: Callable[[int], None]


class RecordReader:
    """Reader of the records of a BAM file, once.

    Parameters
    ----------
    pieces
        The pieces of the file after its header, or of ranges of it.
    name
        The file's name for messages.
    max_record
        Bytes of the longest record.
    pool
        Decodes pieces ahead of the caller.
    """

    def __init__(
        self, pieces: Iterator[PackedPiece], name: str, max_record: int, pool: Pool
    ) -> None:
        self._pieces = pieces
        self._name = name
        self._max_record = max_record
        self._pool = pool

    def converted(
        self,
        convert: Callable[[RecordBlock], Part],
        references: int,
        batch_bases: int,
        intervals: Intervals | None,
    ) -> Iterator[Part]:
        """Read records, and convert them in the threads that have inflated them.

        Parameters
        ----------
        convert
            Converts records; called in several threads, in any order, and also with records that
            are then discarded, so it must have no other effect. The result must not share memory
            with the records.
        references
            Number of contigs in the header.
        batch_bases
            `convert` gets records up to the read that reaches this number of bases, or fewer.
        intervals
            Keep only records that overlap one of these intervals.

        Raises
        ------
        InputError
            A record contradicts itself or the header, or the stream is damaged or truncated.
        """
        decoder = PieceDecoder(
            self._name, references, self._max_record, intervals, batch_bases, convert
        )
        for records in self._in_order(decoder):
            yield from records.parts

    def _in_order(self, decode: PieceDecoder[Part]) -> Iterator[PieceRecords[Part]]:
        """Yield the records of each piece, proved to start where the records before end."""
        ahead = _Ahead(self._pieces, decode, self._pool)
        expected = done = 0
        while job := ahead.next_job():
            piece = job.piece
            start = expected if job.start is None else job.start
            if piece.goes_on and piece.starts.size == 1 and start >= max(piece.size, 1):
                expected = start - piece.size  # no record starts in it; all of it was inflated
                continue
            records = job.task.result()
            if records.first != start:
                records = decode(piece, start, ahead.following(0))
            while records.missing:
                following = ahead.following(records.missing)
                if sum(each.size for each in following) < records.missing:
                    break
                records = decode(piece, start, following)
            # Not after the last piece: a caller that needs no more would miss the fault.
            if records.fault in {SOUND, INCOMPLETE} and ahead.is_empty and ahead.fault:
                raise ahead.fault
            yield records
            done += records.count
            if records.fault != SOUND:
                raise (ahead.fault if records.missing else None) or reading_fault(
                    self._name, done, records.fault, self._max_record
                )
            expected = records.end - piece.size
        if ahead.fault:
            raise ahead.fault


class _Ahead(Generic[Part]):
    """Pieces that are read, and decoded, ahead of their turn.

    Attributes
    ----------
    fault
        The error with which the file ends.
    """

    def __init__(
        self,
        pieces: Iterator[PackedPiece],
        decode: PieceDecoder[Part],
        pool: Pool,
    ) -> None:
        self._pieces = pieces
        waiting = _WAITING_BYTES // (_BYTES_PER_BASE * decode.batch_bases)
        self._waiting = min(max(waiting, _MIN_WAITING), pool.threads)
        self._decode = decode
        self._pool = pool
        self._jobs: deque[_Job[Part]] = deque()
        self._last: PackedPiece | None = None  # not decoded before the next one is known
        self._has_ended = False
        self.fault: InputError | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the piece removed last is the last one."""
        return self._has_ended and not self._jobs

    def next_job(self) -> _Job[Part] | None:
        """Remove and return the next piece; read others, so that all threads have work."""
        while not self._has_ended and len(self._jobs) < self._pool.threads + self._waiting:
            self._read()
        return self._jobs.popleft() if self._jobs else None

    def following(self, missing: int) -> list[PackedPiece]:
        """Return the pieces after the one removed last, with so many bytes if there are."""
        while True:
            pieces = [job.piece for job in self._jobs]
            if self._last is not None:
                pieces.append(self._last)
            if self._has_ended or sum(piece.size for piece in pieces) >= missing:
                return pieces
            self._read()

    def _read(self) -> None:
        piece = None
        try:
            piece = next(self._pieces, None)
        except InputError as error:
            self.fault = error
        if self._last is not None:
            self._submit(self._last, [piece] if piece is not None else [])
        self._last = piece
        self._has_ended = piece is None

    def _submit(self, piece: PackedPiece, following: list[PackedPiece]) -> None:
        start = None if piece.continues else int(piece.starts[0])
        task = self._pool.submit(self._decode, piece, start, following)
        self._jobs.append(_Job(piece, start, task))


def take_first_header(
    pieces: Iterator[PackedPiece], name: str, max_record: int
) -> tuple[SamHeader, Iterator[PackedPiece]]:
    """Read the header of a file from its pieces, of one stretch each; return the rest of them.

    Raises
    ------
    InputError
        A block of the header is damaged, or as `take_header`.
    """
    last: list[PackedPiece] = []
    inflated = 0

    def contents() -> Iterator[bytes]:
        nonlocal inflated
        for piece in pieces:
            last[:] = [piece]
            inflated = 0
            for content in inflated_blocks(last, name):
                inflated += len(content)
                yield content

    buffer = RecordBuffer(contents(), name, max_record)
    header = take_header(buffer)
    # The records start within the blocks of the last piece that was needed, or after them.
    return header, chain([_without(last[0], inflated - buffer.window.size)], pieces)


def _without(piece: PackedPiece, size: int) -> PackedPiece:
    """Return a piece without the first bytes of its content."""
    ends = np.cumsum(piece.table.sizes)
    # At least one block remains, perhaps all of whose content is left out.
    row = min(int(np.searchsorted(ends, size, side="right")), ends.size - 1)
    skip = size - (int(ends[row - 1]) if row else 0)
    table = BlockTable._make(column[row:] for column in piece.table)
    starts = np.array([skip], dtype=np.int64)
    stops = np.array([table.sizes.sum()], dtype=np.int64)
    return replace(piece, table=table, starts=starts, ends=stops, continues=False)
