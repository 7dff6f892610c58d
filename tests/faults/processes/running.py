"""Runs of the command line in this process, with real descriptors as its standard streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO
from unittest.mock import patch

from tests.cli.in_process import status_of_command

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Done:
    """Result of a run."""

    status: int
    out: bytes
    err: str


def run(
    words: Sequence[str],
    directory: Path,
    stdin: Path | int = Path(os.devnull),
    stdout: BinaryIO | None = None,
) -> Done:
    """Run a command line in a directory.

    Parameters
    ----------
    stdin
        File, or a descriptor that is open for reading.
    stdout
        A file that is open for writing, rather than one whose content is returned.
    """
    with ExitStack() as stack:
        source = stdin if isinstance(stdin, int) else stack.enter_context(stdin.open("rb")).fileno()
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        stack.enter_context(_signals_as_before())
        stack.enter_context(_working_in(directory))
        with _streams(source, (stdout or out).fileno(), err.fileno()):
            status = status_of_command(*words)
        return Done(status, _content(out), _content(err).decode())


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


@contextmanager
def a_pipe(path: Path) -> Iterator[int]:
    """Yield the end of a pipe through which another process writes a file.

    Not a thread of this one: a run that forks would give its workers the other end, too, and the
    pipe would not end before they do.
    """
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.fileno()


@contextmanager
def _signals_as_before() -> Iterator[None]:
    handlers = [signal.getsignal(number) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(_SIGNALS, handlers, strict=True):
            signal.signal(number, handler)


@contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _streams(*descriptors: int) -> Iterator[None]:
    """Make descriptors the standard streams, for Python and for compiled code."""
    saved = [os.dup(number) for number in range(3)]
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        with _python_streams():
            yield
    finally:
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _python_streams() -> Iterator[None]:
    files = [standard_stream(number) for number in range(3)]
    try:
        with (
            patch.object(sys, "stdin", files[0]),
            patch.object(sys, "stdout", files[1]),
            patch.object(sys, "stderr", files[2]),
        ):
            yield
    finally:
        for file in files:
            _close(file)


def standard_stream(number: int) -> TextIO:
    """Return the stream that Python opens for one of the first three descriptors at its start."""
    mode, buffering = (("r", -1), ("w", -1), ("w", 1))[number]
    return open(number, mode, buffering, closefd=False)


def _close(file: TextIO) -> None:
    """Close a stream, whose reader may be gone."""
    with suppress(OSError):
        file.close()
