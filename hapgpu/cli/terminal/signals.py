"""The end of a run by a signal: at any moment, and with nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Final, NoReturn

from hapgpu.runtime import leftovers

STATUS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""The exit status by the signal that ends a run: 128 and its number, as shells have it."""

_MOMENTS: Final = 1.0  # seconds
_has_arrived = False


def end_on_signals(program: str) -> None:
    """Let SIGINT, SIGTERM and SIGHUP end this process from now on, whatever it is doing.

    A handler in Python runs in the main thread between two instructions of the interpreter: an
    exception that it raises comes up anywhere, in the dispatcher of a compiled function too, and
    a sort that takes minutes delays it by minutes. The part of the handler that is not Python
    writes to a pipe at once, where a thread waits that ends the process.

    Signals that the caller has switched off, as `nohup` does, stay switched off.

    Parameters
    ----------
    program
        What the message begins with, such as `hapgpu realign`.
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
    """Stay here for good if a signal has arrived: an error that it caused is not worth a word.

    Such an error, of a system call that was interrupted for instance, can come up before the
    thread that ends the process runs; the handler in the main thread runs earlier.
    """
    if _has_arrived:
        threading.Event().wait()


def _note(_number: int, _frame: object) -> None:
    """Note that a signal has arrived; its number goes through the pipe."""
    global _has_arrived  # noqa: PLW0603  (one for the process, and no lock in a handler)
    _has_arrived = True


def _wait_and_end(reading: int, program: str) -> None:
    number = _next_signal(reading)
    if leftovers.has_result():
        # Over but for moments, most likely, and the result is there, which the status would deny.
        time.sleep(_MOMENTS)
    with leftovers.steady():
        leftovers.clear_up()
        _end(number, program)


def _end(number: int, program: str) -> NoReturn:
    if number != signal.SIGINT:  # who presses Ctrl-C knows
        with suppress(OSError):
            os.write(2, f"{program}: stopped by {signal.Signals(number).name}\n".encode())
    os._exit(STATUS[signal.Signals(number)])


def _next_signal(reading: int) -> int:
    while True:
        number = os.read(reading, 1)[0]
        if number in STATUS:
            return number
