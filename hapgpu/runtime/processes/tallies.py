"""What workers count in their processes, and log there: handed to the run with each result."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol, TypeAlias

_Logged: TypeAlias = tuple[str, int, str]
"""Name of a logger, level, and message."""


class Tally(Protocol):
    """Something that counts while workers work, such as the statistics of a run."""

    def drain(self) -> Any:
        """Return what was counted since the last call, and count from 0 again."""
        ...

    def absorb(self, drained: Any) -> None:
        """Add what the same tally counted in another process."""
        ...


class LogBuffer(logging.Handler):
    """Handler that keeps the messages of a process, in place of the handlers of the run."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: list[_Logged] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self._messages.append((record.name, record.levelno, record.getMessage()))

    def drain(self) -> list[_Logged]:
        """Return the messages since the last call."""
        self.acquire()
        try:
            messages, self._messages = self._messages, []
        finally:
            self.release()
        return messages


class OncePerRun:
    """Logger of the messages of processes, each message once: all processes log the same.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: set[_Logged] = set()

    def log(self, messages: Sequence[_Logged]) -> None:
        """Log messages that no process has had before."""
        with self._lock:
            new = [message for message in dict.fromkeys(messages) if message not in self._seen]
            self._seen.update(new)
        for name, level, text in new:
            logging.getLogger(name).log(level, "%s", text)
