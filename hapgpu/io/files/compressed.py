"""Files of text that may be compressed by gzip or bgzip."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from isal import isal_zlib

from hapgpu.errors import InputError
from hapgpu.io.bgzf.reader import EOF_BLOCK, ends_closed, is_bgzf, trailing_bytes

_DAMAGED: Final = (gzip.BadGzipFile, cast("type[Exception]", isal_zlib.error))
_MAGIC: Final = b"\x1f\x8b"
_READ_BYTES: Final = 1 << 19
_BUFFER_BYTES: Final = 1 << 17
_HEADER_BYTES: Final = 10
_TAIL_BYTES: Final = _HEADER_BYTES + len(EOF_BLOCK)


@contextmanager
def open_inflated(source: str | Path | BufferedReader, name: str) -> Iterator[BufferedReader]:
    """Open a source, inflated if it is compressed.

    Zeros behind the compressed data, as tapes have them, are passed over.

    Parameters
    ----------
    source
        A path, `-` for standard input, or a binary stream, which is left open.
    name
        Of the source, for messages.

    Raises
    ------
    InputError
        It cannot be opened, or, here or while it is read, is damaged or cut short, or other bytes
        follow the compressed data.
    """
    try:
        if isinstance(source, BufferedReader):
            yield _inflated(source, name)
        elif str(source) == "-":
            yield _inflated(cast("BufferedReader", sys.stdin.buffer), name)
        else:
            with Path(source).open("rb") as stream:
                yield _inflated(stream, name)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except EOFError:
        raise InputError(f"{name}: the compressed file is cut short: copy it again") from None
    except _DAMAGED as error:
        raise InputError(
            f"{name}: the compressed file is damaged ({error}): copy it again"
        ) from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error


def _inflated(stream: BufferedReader, name: str) -> BufferedReader:
    head = stream.peek(len(EOF_BLOCK))
    if head[:1] != EOF_BLOCK[:1]:  # no text begins with this, and of a pipe more may not be there
        return stream
    if is_bgzf(head) and stream.seekable():
        start = stream.tell()
        if not ends_closed(stream, EOF_BLOCK):
            raise InputError(f"{name} is truncated: its closing (EOF) block is missing")
        stream.seek(start)
    return BufferedReader(_Members(stream, name), _BUFFER_BYTES)


class _Members(RawIOBase):
    """The inflated members of a gzip file, to the end of the last one."""

    def __init__(self, stream: BufferedReader, name: str) -> None:
        self._source = _Deflated(stream)
        self._name = name
        self._inflater = isal_zlib._GzipReader(cast("BinaryIO", self._source), _READ_BYTES)  # noqa: SLF001

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._inflater.readinto(buffer)
        except gzip.BadGzipFile as error:
            if self._source.is_gzip and str(error).startswith("Not a gzipped file"):
                raise trailing_bytes(self._name) from None
            raise
        except EOFError:
            if self._source.ends_behind_member(self._inflater.tell()):
                raise trailing_bytes(self._name) from None
            raise


class _Deflated(RawIOBase):
    """A stream that knows how it began and how it ended."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._head = b""
        self._tail = b""

    @property
    def is_gzip(self) -> bool:
        """Whether it begins as a member does."""
        return self._head == _MAGIC

    def ends_behind_member(self, inflated: int) -> bool:
        """Tell whether bytes follow the last member, too few to be the header of another one.

        It ends with its inflated size, which is known if it is the only one or if the file is BGZF.
        """
        size = (inflated % 2**32).to_bytes(4, "little") if inflated else EOF_BLOCK
        for count in range(1, _HEADER_BYTES):
            member, behind = self._tail[:-count], self._tail[-count:]
            if member.endswith((EOF_BLOCK, size)) and not _MAGIC.startswith(behind[:2]):
                return True
        return False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        got = self._stream.readinto(view)
        if len(self._head) < len(_MAGIC):
            self._head += view[: min(got, len(_MAGIC) - len(self._head))]
        if got:
            self._tail = (self._tail + view[max(0, got - _TAIL_BYTES) : got])[-_TAIL_BYTES:]
        return got
