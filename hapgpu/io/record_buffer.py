"""The inflated bytes of a BAM file, taken in the order in which they come."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bam import MAGIC
from hapgpu.io.header import SamHeader
from hapgpu.rows import read_only

_FIRST_CAPACITY: Final = 1 << 22
_MAX_TEXT_BYTES: Final = 1 << 28
_MAX_NAME_BYTES: Final = 1 << 16


class RecordBuffer:
    """A growing window on a stream of bytes.

    Parameters
    ----------
    pieces
        The stream.
    name
        The file's name for messages.
    """

    def __init__(self, pieces: Iterable[bytes], name: str) -> None:
        self.name = name
        self._pieces: Iterator[bytes] = iter(pieces)
        self._data = np.empty(_FIRST_CAPACITY, dtype=np.uint8)
        self._begin = 0
        self._end = 0

    @property
    def window(self) -> NDArray[np.uint8]:
        """uint8, read-only: what has come and was not dropped; valid until the next `extend`."""
        return read_only(self._data[self._begin : self._end])

    def extend(self) -> bool:
        """Append the next piece to the window; False at the end of the stream."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        if self._end + len(piece) > self._data.size:
            self._make_room(len(piece))
        self._data[self._end : self._end + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        self._end += len(piece)
        return True

    def drop(self, count: int) -> None:
        """Take bytes away from the beginning of the window, which is not valid any more."""
        self._begin += count
        # Going back to the front while little is left keeps the same memory in the cache.
        if self._end - self._begin <= self._begin:
            self._move_to(self._data)

    def take(self, count: int) -> bytes:
        """Take exactly `count` bytes from the beginning of the window."""
        while self._end - self._begin < count:
            if not self.extend():
                raise InputError(f"{self.name} is truncated: it ends within its header")
        taken = self._data[self._begin : self._begin + count].tobytes()
        self._begin += count
        return taken

    def _make_room(self, count: int) -> None:
        kept = self.window
        capacity = self._data.size
        while kept.size + count > capacity // 2:
            capacity *= 2
        grown = capacity > self._data.size
        self._move_to(np.empty(capacity, dtype=np.uint8) if grown else self._data)

    def _move_to(self, data: NDArray[np.uint8]) -> None:
        kept = self.window
        data[: kept.size] = kept
        self._data, self._begin, self._end = data, 0, kept.size


def take_header(buffer: RecordBuffer) -> SamHeader:
    """Read the header from the beginning of an inflated BAM file.

    Raises
    ------
    InputError
        It is no BAM file, or its header is cut short or contradicts itself.
    """
    if buffer.take(len(MAGIC)) != MAGIC:
        raise InputError(f"{buffer.name} is not a BAM file")
    text = _text(buffer.take(_count(buffer, "text length", _MAX_TEXT_BYTES)))
    header = _header(text, buffer.name)  # which tells more of a bad length than the list does
    names, lengths = [], []
    for _ in range(_count(buffer, "number of references", 2**31 - 1)):
        names.append(_text(buffer.take(_count(buffer, "reference name length", _MAX_NAME_BYTES))))
        lengths.append(_count(buffer, "reference length", 2**31 - 1))
    try:
        return _agreed(header, tuple(names), tuple(lengths))
    except InputError as error:
        raise InputError(f"{buffer.name}: {error}") from None


def _header(text: str, name: str) -> SamHeader:
    try:
        return SamHeader.from_text(text)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _agreed(header: SamHeader, names: tuple[str, ...], lengths: tuple[int, ...]) -> SamHeader:
    if not header.reference_names:
        return header.with_references(names, lengths) if names else header
    if (header.reference_names, header.reference_lengths) != (names, lengths):
        raise InputError("the @SQ lines of the header contradict the list of references")
    return header


def _count(buffer: RecordBuffer, what: str, limit: int) -> int:
    value = int(struct.unpack("<i", buffer.take(4))[0])
    if not 0 <= value <= limit:
        raise InputError(f"{buffer.name} is damaged: its header gives {value} as {what}")
    return value


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
