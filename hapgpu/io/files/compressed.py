"""Text files, plain or compressed by gzip or bgzip."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from isal import isal_zlib

from hapgpu.errors import InputError
from hapgpu.io.bgzf.inflater import INFLATE_ERROR
from hapgpu.io.bgzf.marks import EOF_BLOCK, has_closing_bytes, is_bgzf, missing_eof_block
from hapgpu.io.bgzf.pieces import trailing_bytes
from hapgpu.runtime.inputs import expect_file, note_position

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_DAMAGED: Final = (gzip.BadGzipFile, INFLATE_ERROR)
_MAGIC: Final = b"\x1f\x8b"
_READ_BYTES: Final = 1 << 19
_BUFFER_BYTES: Final = 1 << 17
_HEADER_BYTES: Final = 10
_TAIL_BYTES: Final = _HEADER_BYTES + len(EOF_BLOCK)


@contextmanager
def open_inflated(source: str | Path | BufferedReader, name: str) -> Iterator[BufferedReader]:
    """Open a source, inflated if it is compressed.

    Zeros after the compressed data, as on tapes, are skipped.

    Parameters
    ----------
    source
        A path, `-` for standard input, or a binary stream, which is left open.
    name
        Name of the source, for messages.

    Raises
    ------
    InputError
        The source cannot be opened; or, here or during reading, it is damaged or truncated, or
        other bytes follow the compressed data.
    """
    try:
        if isinstance(source, BufferedReader):
            yield _inflated(source, name)
        elif str(source) == "-":
            yield _inflated(standard_input(), name)
        else:
            expect_file(name, source)
            with _noted(Path(source), name) as stream:
                yield _inflated(stream, name)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except EOFError:
        raise InputError(f"{name}: truncated compressed file; copy it again") from None
    except _DAMAGED as error:
        raise InputError(f"{name}: damaged compressed file ({error}); copy it again") from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error


def standard_input() -> BufferedReader:
    """Return standard input, as bytes."""
    return cast("BufferedReader", sys.stdin.buffer)


def _noted(path: Path, name: str) -> BufferedReader:
    return BufferedReader(_NotedFile(path, name), _BUFFER_BYTES)


class _NotedFile(FileIO):
    """File that notes its position, for the progress of the run."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self._input = name
        self._has_position = self.seekable()

    def readinto(self, buffer: WriteableBuffer) -> int:
        got = super().readinto(buffer)
        if self._has_position:
            note_position(self._input, self.tell())
        return got


def _inflated(stream: BufferedReader, name: str) -> BufferedReader:
    head = stream.peek(len(EOF_BLOCK))
    if head[:1] != EOF_BLOCK[:1]:  # no text starts so; a pipe may hold no more yet
        return stream
    if is_bgzf(head) and stream.seekable():
        start = stream.tell()
        if not has_closing_bytes(stream, EOF_BLOCK):
            raise missing_eof_block(name)
        stream.seek(start)
    return BufferedReader(_Members(stream, name), _BUFFER_BYTES)


class _Members(RawIOBase):
    """Inflated members of a gzip file, to the end of the last member."""

    def __init__(self, stream: BufferedReader, name: str) -> None:
        self._source = _Deflated(stream)
        self._name = name
        reader = isal_zlib._GzipReader  # noqa: SLF001 (IGzipFile buffers, and hides the position)
        self._inflater = reader(cast("BinaryIO", self._source), _READ_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            return self._inflater.readinto(buffer)
        except gzip.BadGzipFile as error:
            if self._source.is_gzip and str(error).startswith("Not a gzipped file"):
                raise trailing_bytes(self._name) from None
            raise
        except EOFError:
            if self._source.ends_after_member(self._inflater.tell()):
                raise trailing_bytes(self._name) from None
            raise


class _Deflated(RawIOBase):
    """Stream that keeps its first and last bytes."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._head = b""
        self._tail = b""

    @property
    def is_gzip(self) -> bool:
        """Whether the stream starts as a gzip member does."""
        return self._head == _MAGIC

    def ends_after_member(self, inflated: int) -> bool:
        """Tell whether bytes follow the last member that are too few for another header.

        A member ends with its inflated size, which is known for a single member and for BGZF.
        """
        size = (inflated % 2**32).to_bytes(4, "little") if inflated else EOF_BLOCK
        for count in range(1, _HEADER_BYTES):
            member, trailing = self._tail[:-count], self._tail[-count:]
            if member.endswith((EOF_BLOCK, size)) and not _MAGIC.startswith(trailing[:2]):
                return True
        return False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        got = self._stream.readinto(view)
        if len(self._head) < len(_MAGIC):
            self._head += view[: min(got, len(_MAGIC) - len(self._head))]
        if got:
            self._tail = (self._tail + view[max(0, got - _TAIL_BYTES) : got])[-_TAIL_BYTES:]
        return got
