"""Inputs that are read more than once."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, cast

from hapgpu.errors import InputError

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RereadableInput:
    """A file to be opened as often as needed, and the name of the input for messages."""

    path: str
    name: str


@contextmanager
def rereadable(path: str) -> Iterator[RereadableInput]:
    """Make sure that an input can be read several times, for as long as the context lasts.

    What comes through a pipe is copied to the folder of temporary files. The copy has no name
    there that could be left behind: it is gone with this process.

    Parameters
    ----------
    path
        A file, or `-` for standard input.

    Raises
    ------
    InputError
        A pipe cannot be read, or there is no room for the copy.
    """
    if path != "-" and not is_pipe(path):
        yield RereadableInput(path, path)
        return
    name = "standard input" if path == "-" else path
    with (
        nullcontext(sys.stdin.buffer) if path == "-" else _opened(Path(path)) as stream,
        unnamed_copy(stream, name) as copy,
    ):
        # By its number in this process, so that samtools, which is one of its own, finds it too.
        yield RereadableInput(f"/proc/{os.getpid()}/fd/{copy.fileno()}", name)


@contextmanager
def unnamed_copy(stream: BinaryIO | BufferedIOBase, name: str) -> Iterator[BinaryIO]:
    """Copy the rest of a stream to the folder of temporary files, where the copy has no name.

    Parameters
    ----------
    stream
        Read to its end.
    name
        Of it, for messages.

    Yields
    ------
    The copy, at its beginning, for as long as the context lasts.

    Raises
    ------
    InputError
        The stream cannot be read, or there is no room for the copy.
    """
    with tempfile.TemporaryFile() as copy:
        try:
            shutil.copyfileobj(stream, copy, _COPY_BYTES)
            copy.seek(0)
        except gzip.BadGzipFile:  # an OSError, too, but of what is read
            raise
        except OSError as error:
            raise _uncopied(name, error) from error
        yield cast("BinaryIO", copy)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _uncopied(str(path), error) from error


def _uncopied(name: str, error: OSError) -> InputError:
    return InputError(
        f"{name}: cannot be copied to {tempfile.gettempdir()}: {error.strerror or error};"
        " give a file, or set TMPDIR to a folder with more room"
    )


def is_pipe(path: str) -> bool:
    """Tell whether a path is that of a pipe, or of anything else that is read once."""
    found = Path(path)
    return found.exists() and not found.is_file() and not found.is_dir()
