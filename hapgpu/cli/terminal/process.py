"""Standard streams of the process, which may be closed or full, and its end by signals."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Final, NoReturn

from hapgpu.errors import InputError, OutputError
from hapgpu.runtime import leftovers

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
        _StandardError(2, "w", closefd=False),  # unbuffered, as with -u
        encoding=_encoding(sys.stderr),
        errors="backslashreplace",
        write_through=True,
    )


def collect_from_now_on() -> None:
    """Collect garbage, but nothing that exists by now: call it when all modules are imported.

    Without effect if collection was not disabled, as `hapgpu.cli.app` does.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


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


STATUS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""The exit status by the signal that ends a run: 128 plus its number, as in shells."""

_GRACE_SECONDS: Final = 1.0
_has_arrived = False


def end_on_signals(program: str) -> None:
    """Make SIGINT, SIGTERM and SIGHUP end this process at any time.

    A Python handler runs in the main thread between two instructions of the interpreter. An
    exception that it raises may occur anywhere, also in the dispatcher of a compiled function, and
    a sort of several minutes delays it by minutes. The interpreter's C handler writes to a pipe at
    once; a thread that reads the pipe ends the process.

    Signals that the caller ignores, as `nohup` does, stay ignored.

    Parameters
    ----------
    program
        The start of the message, such as `hapgpu realign`.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in STATUS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _note)
    threading.Thread(
        target=_wait_and_end, args=(reading, program), name="hapgpu-signals", daemon=True
    ).start()


def wait_if_ending() -> None:
    """Block forever if a signal has arrived, so that an error that it caused is not reported.

    Such an error, for instance of an interrupted system call, may occur before the thread that
    ends the process runs; the handler in the main thread runs earlier.
    """
    if _has_arrived:
        threading.Event().wait()


def _note(_number: int, _frame: object) -> None:
    """Record that a signal has arrived; its number goes through the pipe."""
    global _has_arrived  # noqa: PLW0603  (one for the process, and no lock in a handler)
    _has_arrived = True


def _wait_and_end(reading: int, program: str) -> None:
    number = _next_signal(reading)
    if leftovers.has_result():
        # The output is complete and the run about to end: its own status is the right one.
        time.sleep(_GRACE_SECONDS)
    with leftovers.steady():
        leftovers.clear_up()
        _end(number, program)


def _end(number: int, program: str) -> NoReturn:
    if number != signal.SIGINT:  # no message after Ctrl-C
        with suppress(OSError):
            os.write(2, f"{program}: stopped by {signal.Signals(number).name}\n".encode())
    os._exit(STATUS[signal.Signals(number)])


def _next_signal(reading: int) -> int:
    while True:
        number = os.read(reading, 1)[0]
        if number in STATUS:
            return number
