"""The standard streams of the process: open or closed, full, or pipes that nobody reads."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn, cast

from hapgpu.errors import InputError, OutputError

_CLOSED: Final = "it is closed"


def secure_standard_streams() -> None:
    """Make all three standard streams usable, as objects and as descriptors.

    A closed one would be None, and its number would go to the next file that is opened, into
    which others then write messages. Of a closed input or output, each use is an error that says
    so; what goes to a closed or broken standard error is lost, and nothing else with it.
    """
    # The wrong way round: who uses the descriptor, a child say, gets an error, too.
    has_input = not _fill(0, os.O_WRONLY)
    has_output = not _fill(1, os.O_RDONLY)
    _fill(2, os.O_WRONLY)
    if not has_input:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()))
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_StandardOutput(is_closed=not has_output)),
        encoding=_encoding(sys.stdout),
        errors="surrogateescape",
        line_buffering=os.isatty(1),
    )
    sys.stderr = io.TextIOWrapper(
        cast("io.BufferedWriter", _StandardError(2, "w", closefd=False)),  # unbuffered, as with -u
        encoding=_encoding(sys.stderr),
        errors="backslashreplace",
        write_through=True,
    )


def _fill(descriptor: int, flags: int) -> bool:
    """Open a descriptor to the null device if it is closed; tell whether it was."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, flags)  # the lowest that is free
        return True
    return False


def _encoding(stream: io.TextIOBase | Any) -> str:
    """Return what the interpreter chose for a stream, which it leaves None if that is closed."""
    return stream.encoding if stream else "utf-8"


class _ClosedInput(io.RawIOBase):
    """Standard input that was closed by whoever started the process."""

    name = "standard input"

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any) -> NoReturn:
        raise InputError(f"cannot read standard input: {_CLOSED}; give a file")


class _StandardOutput(io.FileIO):
    """Standard output, whose errors name it."""

    def __init__(self, *, is_closed: bool) -> None:
        super().__init__(1, "w", closefd=False)
        self._is_closed = is_closed

    def write(self, data: Any) -> int:
        if self._is_closed:
            raise OutputError(f"cannot write standard output: {_CLOSED}")
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write standard output: {error.strerror}") from error


class _StandardError(io.FileIO):
    """Standard error, which loses what it cannot take."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes
