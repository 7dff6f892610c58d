"""Inputs that are read more than once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

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
    if path != "-" and not _is_pipe(path):
        yield RereadableInput(path, path)
        return
    name = "standard input" if path == "-" else path
    with tempfile.TemporaryFile() as copy:
        try:
            with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as stream:
                shutil.copyfileobj(stream, copy, _COPY_BYTES)
            copy.flush()
        except OSError as error:
            raise InputError(
                f"cannot copy {name} to {tempfile.gettempdir()}: {error.strerror or error};"
                " give a file, or set TMPDIR to a folder with more room"
            ) from error
        # By its number in this process, so that samtools, which is one of its own, finds it too.
        yield RereadableInput(f"/proc/{os.getpid()}/fd/{copy.fileno()}", name)


def _is_pipe(path: str) -> bool:
    found = Path(path)
    return found.exists() and not found.is_file() and not found.is_dir()
