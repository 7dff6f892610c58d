"""The inflated bytes of a BAM file, taken in the order in which they come."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.files.record_limit import MAX_RECORD, too_long

_FIRST_CAPACITY: Final = 1 << 22
_MAX_NAME_BYTES: Final = 1 << 16
_BYTES_BESIDE_NAME: Final = 8
_BYTES_BESIDE_LINE: Final = 64
"""So many more does a short line take in memory, in which a header is held."""
_MOST: Final = 2**31 - 1


class RecordBuffer:
    """A growing window on a stream of bytes.

    Parameters
    ----------
    pieces
        The stream.
    name
        The file's name for messages.
    max_record
        Bytes of the longest record, and of the longest header, that the stream may have.
    """

    def __init__(self, pieces: Iterable[bytes], name: str, max_record: int = MAX_RECORD) -> None:
        self.name = name
        self.max_record = max_record
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
        It is no BAM file, or its header is cut short, too long or contradicts itself.
    """
    if buffer.take(len(BAM_MAGIC)) != BAM_MAGIC:
        raise InputError(f"{buffer.name} is not a BAM file")
    size = _count(buffer, "text length", _MOST)
    _check_size(buffer, size)
    text = _text(buffer.take(size))
    size += _BYTES_BESIDE_LINE * text.count("\n")
    _check_size(buffer, size)
    header = _header(text, buffer.name)  # which tells more of a bad length than the list does
    references: dict[str, int] = {}
    for _ in range(_count(buffer, "number of references", _MOST)):
        name_bytes = _count(buffer, "reference name length", _MAX_NAME_BYTES, least=1)
        size += name_bytes + _BYTES_BESIDE_NAME
        _check_size(buffer, size)
        name = _text(buffer.take(name_bytes))
        if name in references:
            raise InputError(f"{buffer.name} is damaged: its header lists {name!r} twice")
        references[name] = _count(buffer, "reference length", _MOST)
    try:
        return _agreed(header, tuple(references), tuple(references.values()))
    except InputError as error:
        raise InputError(f"{buffer.name}: {error}") from None


def _check_size(buffer: RecordBuffer, size: int) -> None:
    if size > buffer.max_record:
        raise too_long(f"{buffer.name}: the header", buffer.max_record)


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


def _count(buffer: RecordBuffer, what: str, limit: int, least: int = 0) -> int:
    value = int(struct.unpack("<i", buffer.take(4))[0])
    if not least <= value <= limit:
        raise InputError(f"{buffer.name} is damaged: its header gives {value} as {what}")
    return value


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
