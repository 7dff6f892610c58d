"""Reader of files in blocks that a GPU inflates, cuts at records and, in FASTA, joins to lines."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import EOF_BLOCK, is_bgzf
from hapgpu.io.bgzf.pieces import Allocate, PackedPiece, PieceReader
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.files.byte_source import ParallelStream
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_kind import guess_kind
from hapgpu.io.files.unfinished import Unfinished
from hapgpu.runtime.inputs import note_position
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.relay import Relay

LINES: Final = 4
"""Lines of a record of FASTQ."""

_NEWLINE, _GREATER = b"\n>"

Content: TypeAlias = PackedPiece | NDArray[np.uint8]
"""BGZF blocks, or text, uint8 of at least one byte."""

SLACK: Final = 2 << 20
"""Bytes by which a record may be shorter than the limit and yet be refused by the CPU's reader."""

_RATIO: Final = 4
"""Content of a piece in units of its packed bytes; a file that inflates more has more pieces."""
_HEAD_BYTES: Final = 1 << 12
_CHECKED_BYTES: Final = 1 << 24


class Cut(NamedTuple):
    """A piece cut after its last whole record.

    Attributes
    ----------
    end
        The end of that record in the piece; 0 if it has none, or ends before the piece.
    after
        What to hand to the next piece.
    """

    end: int
    after: Unfinished


class PieceEnd(Protocol):
    """The end of a piece of text, from which it is cut without its text."""

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece, after what the piece before hands over."""


@dataclass(frozen=True, slots=True)
class FastqEnd:
    """The end of a piece of FASTQ.

    Attributes
    ----------
    newlines
        Number of newlines of the piece.
    last
        int64[k]: offsets of the last newlines, ascending; k is 4, or `newlines` if there are fewer.
    suffix
        uint8: the bytes after the first of four newlines; all bytes if there are fewer.
    """

    newlines: int
    last: NDArray[np.integer]
    suffix: NDArray[np.uint8]

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece after as many lines as whole records have."""
        records, lines = divmod(before.lines + self.newlines, LINES)
        if not records:
            return Cut(0, before.then(self.suffix, lines))
        end = int(self.last[self.last.size - 1 - lines]) + 1
        start = int(self.last[0]) + 1 if self.newlines >= LINES else 0
        after = Unfinished(records=before.records + records)
        return Cut(end, after.then(self.suffix[end - start :], lines))


@dataclass(frozen=True, slots=True)
class FastaEnd:
    """The end of a piece of FASTA.

    Attributes
    ----------
    starts
        Number of records that start after a newline of the piece.
    last
        Offset of the last of them; 0 without one.
    is_greater
        Whether the first byte is `>`, so a record starts there if the piece before ends a line.
    suffix
        uint8: the bytes from `last` on.
    """

    starts: int
    last: int
    is_greater: bool
    suffix: NDArray[np.uint8]

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece before the last start of a record."""
        ends_line = not before.parts or before.parts[-1][-1] == _NEWLINE
        starts = self.starts + (self.is_greater and bool(ends_line))
        if not starts:
            return Cut(0, before.then(self.suffix))
        started = before.records + bool(before.parts) + starts
        return Cut(self.last, Unfinished(records=started - 1).then(self.suffix))


def end_of_text(text: NDArray[np.uint8], *, is_fasta: bool) -> PieceEnd:
    """Return the end of a piece, `text`, uint8, in host memory."""
    newlines = np.flatnonzero(text == _NEWLINE)
    if is_fasta:
        after = newlines[newlines < text.size - 1] + 1
        starts = after[text[after] == _GREATER]
        last = int(starts[-1]) if starts.size else 0
        is_greater = text[:1].tolist() == [_GREATER]
        return FastaEnd(starts.size, last, is_greater, text[last:].copy())
    last_newlines = newlines[-LINES:]
    start = int(last_newlines[0]) + 1 if newlines.size >= LINES else 0
    return FastqEnd(newlines.size, last_newlines, text[start:].copy())


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class UncutBlock:
    """A part of a file for one worker: text that may start and end within a record.

    Attributes
    ----------
    file
        The file.
    number
        Number of the block in the file, from 0.
    content
        Its content; after the last content of the file its error, or None.
    """

    file: UncutFile
    number: int
    content: Content | InputError | None


class Packing(Enum):
    """How a file is compressed."""

    NONE = auto()
    GZIP = auto()
    BGZF = auto()


class UncutFile:
    """File of FASTQ or FASTA, read in blocks.

    Parameters
    ----------
    path
        A regular file.
    max_record
        Bytes of the longest record that is read.
    packing
        How it is compressed.
    is_fasta
        Whether it is FASTA.

    Attributes
    ----------
    name, max_record, is_fasta
        As given; the name is the path.
    relay
        What each block hands over to the next.
    """

    def __init__(self, path: str, max_record: int, packing: Packing, *, is_fasta: bool) -> None:
        self.name = path
        self.max_record = max_record
        self.is_fasta = is_fasta
        self.relay = Relay(Unfinished())
        self._packing = packing
        self._is_checked = False

    def blocks(self, size: int, allocate: Allocate, threads: int) -> Iterator[UncutBlock]:
        """Read the file, once. An error of the file is the content of the last block.

        Workers must take the blocks in their order, as a pipeline does: each waits for the block
        before, for the record between the two.

        Parameters
        ----------
        size
            Bytes of the content of a block: at most so many, and one BGZF block more.
        allocate
            Allocates the memory of blocks.
        threads
            Threads that read the file.
        """
        number = 0
        last: InputError | None = None
        try:
            for content in self._contents(size, allocate, threads):
                yield self._block(number, content)
                number += 1
        except InputError as error:
            last = error
        yield self._block(number, last)

    def _block(self, number: int, content: Content | InputError | None) -> UncutBlock:
        block = UncutBlock(self, number, content)
        self.relay.abandon_with(block, number)
        return block

    def _contents(self, size: int, allocate: Allocate, threads: int) -> Iterator[Content]:
        done = 0
        if self._packing is Packing.BGZF:
            try:
                for piece in self._pieces(size, allocate, threads):
                    yield piece
                    done += piece.size
            except (InputError, OSError):
                pass  # the rest is damaged, or not BGZF: the CPU inflates it, or has the error
            else:
                return
        if self._packing is Packing.NONE:
            yield from self._plain_texts(size, allocate, threads)
        else:
            yield from self._inflated_texts(done, size, allocate)

    def _pieces(self, size: int, allocate: Allocate, threads: int) -> Iterator[PackedPiece]:
        with Path(self.name).open("rb") as stream, Pool(threads) as pool:
            reader = PieceReader(
                ParallelStream(stream, pool),
                self.name,
                packed_bytes=size // _RATIO,
                inflated_bytes=size,
                allocate=allocate,
            )
            yield from reader.pieces()

    def _plain_texts(
        self, size: int, allocate: Allocate, threads: int
    ) -> Iterator[NDArray[np.uint8]]:
        with open_inflated(self.name, self.name) as stream, Pool(threads) as pool:
            source = ParallelStream(stream, pool)
            rest = os.fstat(stream.fileno()).st_size
            # Only a short file needs less: another size of pinned memory takes long to get.
            size = min(size, rest)
            while rest:
                text = allocate(size)[: min(size, rest)]
                rest -= text.size
                if source.readinto(text.data) < text.size:
                    raise InputError(f"{self.name}: became shorter while it was read; run again")
                note_position(self.name, source.position)
                yield text

    def _inflated_texts(
        self, skipped: int, size: int, allocate: Allocate
    ) -> Iterator[NDArray[np.uint8]]:
        """Inflate the file on the CPU, and yield its text without its first bytes."""
        with open_inflated(self.name, self.name) as stream:
            filled = size
            while filled == size:
                text = allocate(size)[:size]
                filled = 0
                while filled < size and (got := stream.readinto(text[filled:].data)):
                    filled += got
                start = min(skipped, filled)
                skipped -= start
                if start < filled:
                    yield text[start:filled]

    def check_length(self, longest: int) -> None:
        """Check the length of records on the CPU if one may be too long.

        Parameters
        ----------
        longest
            Bytes of the longest record, in any form.

        Raises
        ------
        InputError
            A record is too long, or the file has another error before.
        """
        if longest < self.max_record - SLACK or self._is_checked:
            return
        self._is_checked = True
        if error := self.error():
            raise error

    def error(self) -> InputError | None:
        """Read the file on the CPU, and return the error of that."""
        try:
            for _ in read_blocks(self.name, _CHECKED_BYTES, max_record=self.max_record):
                pass
        except InputError as error:
            return error
        return None


def uncut_file(path: str, max_record: int) -> UncutFile | None:
    """Return a file that a GPU cuts: a regular one, plain, BGZF, or FASTA.

    None for other files: a single thread inflates FASTQ of plain gzip, and another has the time to
    cut it. None also if it cannot be read: `read_blocks` has the error.
    """
    try:
        status = None if path == "-" else Path(path).stat()
        if status is None or not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None  # of files in /proc the size is 0
        with Path(path).open("rb") as stream:
            packing = _packing_of(stream.read(_HEAD_BYTES))
        with open_inflated(path, path) as text:
            head = text.peek(_HEAD_BYTES)
    except (InputError, OSError):
        return None
    is_fasta = head[:1] == b">"
    if not is_fasta and (head[:1] != b"@" or packing is Packing.GZIP or guess_kind(head)):
        return None
    return UncutFile(path, max_record, packing, is_fasta=is_fasta)


def _packing_of(head: bytes) -> Packing:
    if is_bgzf(head):
        return Packing.BGZF
    return Packing.GZIP if head[:1] == EOF_BLOCK[:1] else Packing.NONE
