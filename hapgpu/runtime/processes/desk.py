"""A worker process: its life, and the desk at which each of its workers gets batches."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from typing import Any, Final, NoReturn, TypeAlias

from hapgpu.runtime import leftovers
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.channel import Channel, EndedError, sendable
from hapgpu.runtime.processes.child import RUN_SIGNALS, TRY_AGAIN
from hapgpu.runtime.processes.in_run import serving
from hapgpu.runtime.processes.locks import others_import
from hapgpu.runtime.processes.messages import Kept, Reply
from hapgpu.runtime.processes.tallies import LogBuffer, Tally

Worker: TypeAlias = Callable[[Any], Any]
"""Makes a result of a batch."""

_PACKAGE: Final = __name__.partition(".")[0]
_PR_SET_PDEATHSIG: Final = 1


def live(
    pairs: Sequence[tuple[Channel, Channel]],
    workers: Sequence[Worker],
    tallies: Sequence[Tally],
    run: int,
    held: ExitStack,
    start: Callable[[], object],
) -> NoReturn:
    """Live as a worker process, from the fork to the end of the run.

    Parameters
    ----------
    pairs
        Both ends of the channel of each worker.
    workers
        The workers.
    tallies
        What they add to.
    run
        Number of the process of the run.
    held
        Holds what was held at the fork.
    start
        Is called before anything else, and before there are threads.
    """
    status = 1
    try:
        if others_import():
            os._exit(TRY_AGAIN)
        _end_with_the_run(run)
        held.close()
        start()
        pairs[0][1].send(None)  # it has started
        log = _buffered_log()
        for tally in tallies:
            tally.drain()
        for own, _ in pairs:
            own.close_connection()
        desks = [
            _Desk(end, worker, tallies, log)
            for (_, end), worker in zip(pairs, workers, strict=True)
        ]
        for desk in desks[1:]:
            threading.Thread(target=_work, args=(desk,)).start()
        desks[0].work()
        status = 0
    finally:
        os._exit(status)


def _work(desk: _Desk) -> None:
    """Work in a thread until the run ends; after a fault, end the process: the run would wait."""
    status = 1
    try:
        desk.work()
        status = 0
    finally:
        os._exit(status)


def _end_with_the_run(run: int) -> None:
    """Leave signals and clean-up to the run; end if it is killed."""
    for number in RUN_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != run:  # it was killed before
        os._exit(1)
    leftovers.forget_all()


def _buffered_log() -> LogBuffer:
    """Keep the messages of this process, which the run logs."""
    buffer = LogBuffer()
    logger = logging.getLogger(_PACKAGE)
    logger.handlers, logger.propagate = [buffer], False
    return buffer


class _Desk:
    """A worker of this process, and the channel by which the run gives it batches."""

    def __init__(
        self, channel: Channel, worker: Worker, tallies: Sequence[Tally], log: LogBuffer
    ) -> None:
        self._channel = channel
        self._worker = worker
        self._tallies = tallies
        self._log = log
        self._kept: dict[int, Callable[..., Any]] = {}
        self._numbers = count()

    def work(self) -> None:
        """Compute batches until the run ends."""
        with suppress(EndedError), serving(self._channel):
            while True:
                self._compute()

    def _compute(self) -> None:
        # A separate function, so that no batch stays alive while waiting for the next.
        try:
            result, error = self._with_kept(self._worker(self._next())), None
        except EndedError:
            raise
        except BaseException as failure:  # noqa: BLE001  (raised again in the run)
            result, error = None, sendable(failure)
        counted = [tally.drain() for tally in self._tallies]
        logged = self._log.drain()
        try:
            self._channel.send(Reply(result, error, counted, logged))
        except EndedError:
            raise
        except Exception as failure:  # noqa: BLE001  (whatever pickling a result raises)
            self._channel.send(Reply(None, sendable(failure), counted, logged))

    def _next(self) -> Any:
        """Wait for a batch."""
        batch = self._channel.receive()
        return self._kept.pop(batch.number) if isinstance(batch, Kept) else batch

    def _with_kept(self, result: Any) -> Any:
        """Keep the parts of a divided batch that are functions."""
        if not isinstance(result, Divided):
            return result
        rest = [self._keep(part) if callable(part) else part for part in result.rest]
        return Divided(result.result, rest)

    def _keep(self, part: Callable[..., Any]) -> Kept:
        number = next(self._numbers)
        self._kept[number] = part
        return Kept(number)
