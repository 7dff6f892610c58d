"""The end of a run by a signal, at any moment, without leftover files."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Final, NoReturn

from hapgpu.runtime import leftovers

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
