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
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hapgpu.errors import InputError

if TYPE_CHECKING:
    from _typeshed import SupportsRead

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RereadableInput:
    """File that can be opened several times, and the name of the input for messages."""

    path: str
    name: str


@contextmanager
def rereadable(path: str) -> Iterator[RereadableInput]:
    """Make an input readable several times within the context.

    A pipe is copied to the directory of temporary files. The copy has no name there, so it ends
    with this process.

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
        # A path that samtools, a process of its own, can open too.
        yield RereadableInput(f"/proc/{os.getpid()}/fd/{copy.fileno()}", name)


@contextmanager
def unnamed_copy(stream: SupportsRead[bytes], name: str) -> Iterator[BinaryIO]:
    """Copy the rest of a stream to an unnamed file in the directory of temporary files.

    Parameters
    ----------
    stream
        Read to its end.
    name
        Name of the stream, for messages.

    Yields
    ------
    The copy, at its start, valid within the context.

    Raises
    ------
    InputError
        The stream cannot be read, or there is no room for the copy.
    """
    with tempfile.TemporaryFile() as copy:
        try:
            shutil.copyfileobj(stream, copy, _COPY_BYTES)
            copy.seek(0)
        except gzip.BadGzipFile:  # an OSError too, but of the input
            raise
        except OSError as error:
            raise _uncopied(name, error) from error
        yield copy


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _uncopied(str(path), error) from error


def _uncopied(name: str, error: OSError) -> InputError:
    return InputError(
        f"{name}: cannot be copied to {tempfile.gettempdir()} ({error.strerror or error});"
        " give a file, or set TMPDIR to a directory with more space"
    )


def not_by_region(path: str | Path) -> InputError:
    """Return the error for a pipe that would be read by region."""
    return InputError(f"{path}: a pipe cannot be read by region; give a file")


def is_pipe(path: str) -> bool:
    """Tell whether a path is a pipe, or another file that can be read only once."""
    found = Path(path)
    return found.exists() and not found.is_file() and not found.is_dir()
