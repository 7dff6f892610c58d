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
from hapgpu.io.bgzf import EOF_BLOCK, ends_closed, is_bgzf, trailing_bytes

_DAMAGED: Final = (gzip.BadGzipFile, cast("type[Exception]", isal_zlib.error))
_MAGIC: Final = b"\x1f\x8b"
_READ_BYTES: Final = 1 << 19
_BUFFER_BYTES: Final = 1 << 17
_END_MARK: Final = b"\xffthe end of the file"
"""As long as the header of a member at least, and not the beginning of one."""


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
    """The inflated members of a gzip file, to the end of the last one.

    The inflater of isal refuses what follows the last member, together with what it has inflated
    in the same call; its position tells how much that was.
    """

    def __init__(self, stream: BufferedReader, name: str) -> None:
        self._source = _EndMarked(stream)
        self._name = name
        self._inflater = isal_zlib._GzipReader(cast("BinaryIO", self._source), _READ_BYTES)  # noqa: SLF001
        self._is_done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._is_done:
            return 0
        start = self._inflater.tell()
        try:
            return self._inflater.readinto(buffer)
        except _DAMAGED as error:
            if not (str(error).startswith("Not a gzipped file") and self._source.is_gzip):
                if self._source.is_at_end:  # it went on in the mark
                    raise EOFError from error
                raise
            if str(_END_MARK[:2]) not in str(error):
                raise trailing_bytes(self._name) from None
            self._is_done = True
            return self._inflater.tell() - start


class _EndMarked(RawIOBase):
    """A stream with a mark behind its end.

    Without it, the inflater would not tell few bytes behind the last member from a member that is
    cut short.

    Attributes
    ----------
    is_gzip
        Whether it begins as a member does.
    is_at_end
        Whether the mark has been read.
    """

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._head = b""
        self._mark = memoryview(_END_MARK)

    @property
    def is_gzip(self) -> bool:
        return self._head == _MAGIC

    @property
    def is_at_end(self) -> bool:
        return len(self._mark) < len(_END_MARK)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        got = 0 if self.is_at_end else self._stream.readinto(view)
        if not got:
            got = min(len(view), len(self._mark))
            view[:got] = self._mark[:got]
            self._mark = self._mark[got:]
        elif len(self._head) < len(_MAGIC):
            self._head += view[: min(got, len(_MAGIC) - len(self._head))]
        return got
