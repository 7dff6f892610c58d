"""A process that the run forks: its fork, its start and its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from hapgpu.errors import HapgpuError
from hapgpu.runtime import leftovers
from hapgpu.runtime.processes.channel import Channel, EndedError

RUN_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the run, which ends its processes."""
TRY_AGAIN: Final = 75
"""Status of a process that has to be forked again."""


@contextmanager
def ready_to_fork() -> Iterator[ExitStack]:
    """Hold what no other thread may hold at a fork: the process would wait for it forever.

    Python does so for its own locks, and `held_at_forks` for other locks of hapgpu. With
    `leftovers.steady`, no signal ends the run between a fork and the note of it. The process has
    to close the stack: it holds the locks, too. See `others_import` for imports.
    """
    with ExitStack() as stack:
        if "numba" in sys.modules:
            from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415  (slow)

            stack.enter_context(global_compiler_lock)
        stack.enter_context(leftovers.steady())  # last: who compiles for the cache takes it, too
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of several threads
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, RUN_SIGNALS)
        stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        yield stack


class ChildProcess:
    """A forked process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._status: int | None = None

    def has_started(self, channel: Channel) -> bool:
        """Wait until the process has started; return False if it has to be forked again.

        Raises
        ------
        HapgpuError
            It has ended for another reason.
        """
        try:
            channel.receive()
        except EndedError as error:
            if os.waitstatus_to_exitcode(self.wait()) == TRY_AGAIN:
                return False
            raise self.error() from error
        return True

    def kill(self) -> None:
        """Kill the process, if it has not ended."""
        with self._lock, suppress(ProcessLookupError):
            if self._status is None:
                os.kill(self._number, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end of the process; return its status as `waitpid` does."""
        with self._lock:
            if self._status is None:
                # Another part of the program may have waited for all children.
                with suppress(ChildProcessError):
                    _, self._status = os.waitpid(self._number, 0)
            if self._status is None:
                self._status = signal.SIGKILL
            return self._status

    def error(self) -> HapgpuError:
        """Wait for the end of a process that does not answer; return the error for it."""
        code = os.waitstatus_to_exitcode(self.wait())
        if code == -signal.SIGKILL:
            reason = "was killed, perhaps because memory ran out; use fewer threads (-t)"
        elif code < 0:
            reason = f"ended by {signal.Signals(-code).name}; run again with --processes 1"
        else:
            reason = f"ended with status {code}; run again with --processes 1"
        return HapgpuError(f"worker process {self._number}: {reason}")
