"""The standard streams of the process, which may be closed, full, or pipes without a reader."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn, cast

from hapgpu.errors import InputError, OutputError

_CLOSED: Final = "is closed"


def secure_standard_streams() -> None:
    """Make all three standard streams usable, as objects and as descriptors.

    A closed stream would be None, and its number would be given to the next file that is opened,
    which then receives messages of other libraries. Each use of a closed input or output raises an
    error; text for a closed or broken standard error is lost.
    """
    # Opened for the wrong direction: users of the descriptor, such as a child, get an error, too.
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
    """Open a closed descriptor to the null device; return whether it was closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, flags)  # gets the lowest free number
        return True
    return False


def _encoding(stream: io.TextIOBase | Any) -> str:
    """Return the interpreter's encoding of a stream; a closed stream is None."""
    return stream.encoding if stream else "utf-8"


class _ClosedInput(io.RawIOBase):
    """Standard input that the parent process closed."""

    name = "standard input"

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any) -> NoReturn:
        raise InputError(f"standard input: {_CLOSED}; give a file")


class _StandardOutput(io.FileIO):
    """Standard output; its errors name it."""

    def __init__(self, *, is_closed: bool) -> None:
        super().__init__(1, "w", closefd=False)
        self._is_closed = is_closed

    def write(self, data: Any) -> int:
        if self._is_closed:
            raise OutputError(f"standard output: {_CLOSED}")
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output: {error.strerror}") from error


class _StandardError(io.FileIO):
    """Standard error; text that it cannot take is lost."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes
