"""Buffer of the inflated bytes of a BAM file, read in file order."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader, encode_references
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.files.record_limit import MAX_RECORD, too_long

_FIRST_CAPACITY: Final = 1 << 22
_MAX_HEADERS_KEPT: Final = 4
_MAX_NAME_BYTES: Final = 1 << 16
_BYTES_BESIDE_NAME: Final = 8
_BYTES_BESIDE_LINE: Final = 64
"""Bytes that a header line takes in memory beside its text."""
_MAX_COUNT: Final = 2**31 - 1
_PART: Final = 1 << 20
"""Bytes of a header that are copied at a time."""

_headers: dict[bytes, SamHeader] = {}
"""The headers read last, by the digest of their texts."""


class RecordBuffer:
    """Growing window on a stream of bytes.

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
        self._start = 0
        self._end = 0

    @property
    def window(self) -> NDArray[np.uint8]:
        """uint8, read-only: the bytes read and not taken; valid until the next `extend`."""
        return read_only(self._data[self._start : self._end])

    def extend(self) -> bool:
        """Append the next piece to the window; return False at the end of the stream."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        if self._end + len(piece) > self._data.size:
            self._make_room(len(piece))
        self._data[self._end : self._end + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        self._end += len(piece)
        return True

    def take(self, count: int) -> memoryview:
        """Remove exactly `count` bytes from the start of the window; return a view of them.

        The view is valid until the next call. It is no copy: a header may take 100 MB.
        """
        while self._end - self._start < count:
            if not self.extend():
                raise InputError(
                    f"{self.name}: truncated (it ends within its header); copy it again"
                )
        taken = self.window[:count].data
        self._start += count
        return taken

    def starts_with(self, content: bytes) -> bool:
        """Tell whether the window starts with these bytes; extend it until it is known."""
        while self._end - self._start < len(content):
            if not self.extend():
                return False
        return self.window[: len(content)].tobytes() == content

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
        self._data, self._start, self._end = data, 0, kept.size


def take_header(buffer: RecordBuffer) -> SamHeader:
    """Read the header from the start of an inflated BAM file.

    Raises
    ------
    InputError
        It is not a BAM file, or its header is truncated, too long or contradicts itself.
    """
    if bytes(buffer.take(len(BAM_MAGIC))) != BAM_MAGIC:
        raise InputError(f"{buffer.name}: not a BAM file; give BAM, CRAM, SAM or FASTQ")
    size = _count(buffer, "text length", _MAX_COUNT)
    _check_size(buffer, size)
    text = buffer.take(size)
    size += _BYTES_BESIDE_LINE * _count_lines(text)
    _check_size(buffer, size)
    header = _header(text, buffer.name)  # its message on a bad length says more
    if header.reference_names:
        # The list of contigs is as the text says, or the header is damaged.
        encoded = encode_references(header)
        if size + len(encoded) <= buffer.max_record and buffer.starts_with(encoded):
            buffer.take(len(encoded))
            return header
    references: dict[str, int] = {}
    for _ in range(_count(buffer, "number of references", _MAX_COUNT)):
        name_bytes = _count(buffer, "reference name length", _MAX_NAME_BYTES, minimum=1)
        size += name_bytes + _BYTES_BESIDE_NAME
        _check_size(buffer, size)
        name = _text(buffer.take(name_bytes))
        if name in references:
            raise InputError(
                f"{buffer.name}: damaged (its header lists {name!r} twice); run: samtools reheader"
            )
        references[name] = _count(buffer, "reference length", _MAX_COUNT)
    try:
        return _with_contigs(header, tuple(references), tuple(references.values()))
    except InputError as error:
        raise InputError(f"{buffer.name}, {error}") from None


def _check_size(buffer: RecordBuffer, size: int) -> None:
    if size > buffer.max_record:
        raise too_long(f"{buffer.name}, header", buffer.max_record)


def _header(text: memoryview, name: str) -> SamHeader:
    """Parse a header once: a CRAM file is opened again for each of its parts.

    Headers are known by their digest: texts take up to 100 MB each.
    """
    digest = hashlib.sha256(text).digest()
    header = _headers.get(digest)
    if header is None:
        try:
            header = SamHeader.from_text(_text(text))
        except InputError as error:
            raise InputError(f"{name}, {error}") from None
        _headers[digest] = header
        for oldest in list(_headers)[:-_MAX_HEADERS_KEPT]:
            _headers.pop(oldest, None)
    return header


def _with_contigs(header: SamHeader, names: tuple[str, ...], lengths: tuple[int, ...]) -> SamHeader:
    if not header.reference_names:
        return header.with_references(names, lengths) if names else header
    if (header.reference_names, header.reference_lengths) != (names, lengths):
        raise InputError(
            "header: the @SQ lines contradict the list of contigs; run: samtools reheader"
        )
    return header


def _count(buffer: RecordBuffer, what: str, limit: int, minimum: int = 0) -> int:
    value = int(struct.unpack("<i", buffer.take(4))[0])
    if not minimum <= value <= limit:
        raise InputError(
            f"{buffer.name}: damaged (its header gives {value} as {what}); copy it again"
        )
    return value


def _count_lines(text: memoryview) -> int:
    parts = (text[start : start + _PART] for start in range(0, len(text), _PART))
    return sum(part.tobytes().count(b"\n") for part in parts)


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "surrogateescape").split("\0", 1)[0]
