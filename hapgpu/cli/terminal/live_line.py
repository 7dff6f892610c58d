"""The line at the bottom of a terminal that shows progress, below all messages.

The process has one such line. It is erased before anything else is written to the terminal, and
before the process ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Final

from hapgpu.runtime import leftovers

_ERASED: Final = b"\r\x1b[2K"
_HIDDEN_CURSOR: Final = b"\x1b[?25l"
_CURSOR: Final = b"\x1b[?25h"
_PATIENCE_SECONDS: Final = 0.5  # for a thread that writes to a terminal which has stopped

_lock = RLock()
_leftover: int | None = None
"""Number of the clean-up while the line is shown."""


def can_show(*, shows_output: bool) -> bool:
    """Tell whether standard error is a terminal that can erase a line, and holds no records.

    Parameters
    ----------
    shows_output
        Whether the output of the run goes to standard output.
    """
    is_simple = os.environ.get("TERM", "dumb") in {"", "dumb", "unknown"}
    return sys.stderr.isatty() and not is_simple and not (shows_output and sys.stdout.isatty())


def draw(line: str) -> None:
    """Show a line, which must fit the terminal, in place of the one before.

    Nothing is drawn by a process in the background, whose terminal belongs to another one.
    """
    global _leftover  # noqa: PLW0603  (one line for the process)
    with _lock:
        if _is_in_background():
            return
        if _leftover is None:
            _leftover = leftovers.register(_end)
        _write(_HIDDEN_CURSOR + _ERASED + line.encode(sys.stderr.encoding, "replace"))


def erase() -> None:
    """Remove the line, if it is shown."""
    global _leftover  # noqa: PLW0603  (one line for the process)
    with _lock:
        if _leftover is not None:
            _write(_ERASED + _CURSOR)  # first: a signal in between must find the clean-up
            leftovers.forget(_leftover)
            _leftover = None


@contextmanager
def erased() -> Iterator[None]:
    """Remove the line while something else is written to the terminal."""
    with _lock:
        erase()
        yield


class MessageStream:
    """Standard error for messages, which are written above the line."""

    def write(self, text: str) -> None:
        """Write a message, with its newline."""
        with erased():
            sys.stderr.write(text)

    def flush(self) -> None:
        """Write what is buffered."""
        sys.stderr.flush()


def _end() -> None:
    """Remove the line for good: the process ends, and no thread may draw it again."""
    _lock.acquire(timeout=_PATIENCE_SECONDS)
    _write(_ERASED + _CURSOR)


def _write(text: bytes) -> None:
    with suppress(OSError):  # a terminal that was closed
        os.write(2, text)


def _is_in_background() -> bool:
    try:
        return os.tcgetpgrp(2) != os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return False
