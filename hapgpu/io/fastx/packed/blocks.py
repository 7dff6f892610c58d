"""Reader of BGZF files of FASTQ in blocks that a GPU inflates."""

from __future__ import annotations

import stat
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bgzf.pieces import PackedPiece, PieceReader
from hapgpu.io.bgzf.reader import is_bgzf
from hapgpu.io.fastx.packed.hand_over import Unfinished
from hapgpu.io.fastx.read_blocks import Allocate, read_blocks
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.parallel_stream import ParallelStream
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.relay import Relay

Content: TypeAlias = PackedPiece | NDArray[np.uint8] | InputError | None
"""BGZF blocks, or inflated text; after the last of them the error of the file, or None."""

_RATIO: Final = 4
"""Content of a piece in units of its packed bytes; a file that inflates more has more pieces."""
_HEAD_BYTES: Final = 64


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PackedBlock:
    """A part of a file for one worker: text that may start and end within a record.

    Attributes
    ----------
    file
        The file.
    number
        Number of the block in the file, from 0.
    content
        Its content.
    """

    file: PackedFile
    number: int
    content: Content


class PackedFile:
    """BGZF file of FASTQ, read in blocks.

    Parameters
    ----------
    path
        A regular file, which `is_packed_fastq`.
    max_record
        Bytes of the longest record that is read.

    Attributes
    ----------
    name
        Its name for messages.
    relay
        What each block hands over to the next.
    """

    def __init__(self, path: str, max_record: int) -> None:
        self.name = path
        self.max_record = max_record
        self.relay = Relay(Unfinished())

    def blocks(self, size: int, allocate: Allocate, threads: int) -> Iterator[PackedBlock]:
        """Read the file, once. Errors of the file are content of the last block.

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
        content: Content
        try:
            for content in self._contents(size, allocate, threads):
                yield self._block(number, content)
                number += 1
            content = None
        except InputError as error:
            content = error
        yield self._block(number, content)

    def _block(self, number: int, content: Content) -> PackedBlock:
        block = PackedBlock(self, number, content)
        # A pipeline that stops lets blocks go, for whose successors workers may wait.
        weakref.finalize(block, self.relay.abandon, number).atexit = False
        return block

    def _contents(
        self, size: int, allocate: Allocate, threads: int
    ) -> Iterator[PackedPiece | NDArray[np.uint8]]:
        done = 0
        try:
            with Path(self.name).open("rb") as stream, Pool(threads) as pool:
                reader = PieceReader(
                    cast("Any", ParallelStream(stream, pool)),
                    self.name,
                    packed_bytes=size // _RATIO,
                    inflated_bytes=size,
                    allocate=allocate,
                )
                for piece in reader.pieces():
                    yield piece
                    done += piece.size
        except (InputError, OSError):
            # The rest is damaged, or not BGZF: the CPU reads it, or has the error.
            yield from self._inflated(done, size, allocate)

    def _inflated(self, skipped: int, size: int, allocate: Allocate) -> Iterator[NDArray[np.uint8]]:
        """Inflate the file on the CPU, and yield its text without its first bytes."""
        with open_inflated(self.name, self.name) as stream:
            is_end = False
            while not is_end:
                text = allocate(size)[:size]
                filled = 0
                while filled < size and (got := stream.readinto(text[filled:].data)):
                    filled += got
                is_end = filled < size
                start = min(skipped, filled)
                skipped -= start
                if start < filled:
                    yield text[start:filled]

    def error(self) -> InputError | None:
        """Read the file on the CPU, and return the error of that."""
        try:
            for _ in read_blocks(self.name, 1 << 24, max_record=self.max_record):
                pass
        except InputError as error:
            return error
        return None


def is_packed_fastq(path: str) -> bool:
    """Tell whether a path is a BGZF file of FASTQ, and a regular one.

    False also for files that cannot be read, for whose errors the other readers are.
    """
    try:
        if path == "-" or not stat.S_ISREG(Path(path).stat().st_mode):
            return False
        with Path(path).open("rb") as stream:
            if not is_bgzf(stream.read(_HEAD_BYTES)):
                return False
        with open_inflated(path, path) as text:
            return text.peek(1).startswith(b"@")
    except (InputError, OSError):
        return False
