"""Files of text that may be compressed by gzip or bgzip."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Final, cast

from isal import igzip, isal_zlib

from hapgpu.errors import InputError
from hapgpu.io.bgzf import EOF_BLOCK, is_bgzf

_DAMAGED: Final = (gzip.BadGzipFile, cast("type[Exception]", isal_zlib.error))


@contextmanager
def open_inflated(source: str | Path | BufferedReader, name: str) -> Iterator[BufferedIOBase]:
    """Open a source, inflated if it is compressed.

    Parameters
    ----------
    source
        A path, `-` for standard input, or a binary stream, which is left open.
    name
        Of the source, for messages.

    Raises
    ------
    InputError
        It cannot be opened, or, here or while it is read, is damaged or cut short.
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


def _inflated(stream: BufferedReader, name: str) -> BufferedIOBase:
    head = stream.peek(len(EOF_BLOCK))
    if head[:1] != EOF_BLOCK[:1]:  # no text begins with this, and of a pipe more may not be there
        return stream
    if is_bgzf(head) and stream.seekable():
        start = stream.tell()
        stream.seek(max(stream.seek(0, SEEK_END) - len(EOF_BLOCK), 0))
        if stream.read() != EOF_BLOCK:
            raise InputError(f"{name} is truncated: its closing (EOF) block is missing")
        stream.seek(start)
    return cast("BufferedIOBase", igzip.IGzipFile(fileobj=stream))
