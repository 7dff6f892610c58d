"""Workers of a pipeline in forked processes, and the functions by which the pipeline calls them.

A process is forked from the run: it has its index, its open inputs and its compiled functions, and
copies nothing of them. It never uses CUDA, which does not survive a fork; see `in_run`.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, Final, NoReturn, TypeAlias

from hapgpu.errors import HapgpuError
from hapgpu.runtime import leftovers
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.channel import Channel, EndedError, sendable
from hapgpu.runtime.processes.in_run import Call, functions_in_run, serving
from hapgpu.runtime.processes.locks import others_import
from hapgpu.runtime.processes.tallies import LogBuffer, OncePerRun, Tally

_PACKAGE: Final = __name__.partition(".")[0]
Worker: TypeAlias = Callable[[Any], Any]

_PR_SET_PDEATHSIG: Final = 1
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the run, which ends its processes."""
_TRY_AGAIN: Final = 75
"""Status of a process that has to be forked again."""
_TRY_SECONDS: Final = 0.002


@dataclass(frozen=True, slots=True)
class Processes:
    """How the workers of a pipeline are divided into processes.

    Attributes
    ----------
    count
        Number of processes; 1: threads of the run.
    shared
        Objects that batches and results refer to and that exist already, such as open inputs: the
        processes have their own.
    tallies
        What workers add to, beside their results.
    """

    count: int
    shared: Sequence[object] = ()
    tallies: Sequence[Tally] = ()


ONE_PROCESS: Final = Processes(1)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Part of a divided batch that is a function: it stays where what it refers to is."""

    number: int


@dataclass(frozen=True, slots=True)
class _KeptBy:
    """Such a part, and the worker whose process keeps it."""

    worker: _ForkedWorker
    part: _Kept


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a worker makes of a batch, or its error; and what was counted and logged meanwhile."""

    result: Any
    error: BaseException | None
    counted: Sequence[Any]
    logged: Sequence[Any]


class ForkedWorkers(Closeable):
    """Processes with workers; a context manager, which ends them.

    Parameters
    ----------
    workers
        The workers, divided evenly: a process has a thread for each of its workers.
    processes
        The number of processes, and what they share.

    Attributes
    ----------
    workers
        Functions that do in the processes what the given workers do; a thread for each of them
        calls it and waits.
    """

    def __init__(self, workers: Sequence[Worker], processes: Processes) -> None:
        parts = min(processes.count, len(workers))
        cuts = [len(workers) * number // parts for number in range(parts + 1)]
        self._once = OncePerRun()
        self.workers: list[_ForkedWorker] = []
        self._channels: list[Channel] = []
        self._processes: list[_Process] = []
        self._undo = leftovers.register(self.stop)
        to_start = [workers[start:end] for start, end in pairwise(cuts)]
        with ExitStack() as stack:
            stack.callback(self.close)
            while to_start:
                forked = [self._fork(part, processes) for part in to_start]
                have_started = [self._has_started(*each, processes.tallies) for each in forked]
                to_start = [
                    part for part, has in zip(to_start, have_started, strict=True) if not has
                ]
                if to_start:
                    time.sleep(_TRY_SECONDS)
            stack.pop_all()

    def _fork(
        self, workers: Sequence[Worker], processes: Processes
    ) -> tuple[_Process, list[Channel]]:
        """Fork a process for some workers; return it, and its channels.

        Raises
        ------
        HapgpuError
            The system refuses processes, descriptors or memory.
        """
        shared = [*processes.shared, *processes.tallies, *functions_in_run()]
        run = os.getpid()
        # Within `_ready_to_fork`, no process that is forked meanwhile keeps the other ends open.
        with _ready_to_fork() as held, ExitStack() as stack:
            try:
                pairs = [self._pair(stack, shared) for _ in workers]
                number = os.fork()
            except OSError as error:
                raise HapgpuError(
                    f"worker processes cannot be started ({error.strerror}); use fewer threads (-t)"
                    " or raise the limits of processes and open files (ulimit -u, ulimit -n)"
                ) from error
            if not number:
                stack.pop_all()
                _live(pairs, workers, processes.tallies, run, held)
            process = _Process(number)
            self._processes.append(process)
        return process, [own for own, _ in pairs]

    def _pair(self, stack: ExitStack, shared: Sequence[object]) -> tuple[Channel, Channel]:
        """Return both ends of a channel; a stack closes the connection of the other end."""
        own, other = Channel.pair(shared)
        stack.callback(other.close_connection)
        self._channels.append(own)
        return own, other

    def _has_started(
        self, process: _Process, channels: Sequence[Channel], tallies: Sequence[Tally]
    ) -> bool:
        """Wait for the start of a process; add its workers, unless it has to be forked again."""
        if process.has_started(channels[0]):
            self.workers += [_ForkedWorker(process, own, tallies, self._once) for own in channels]
            return True
        for own in channels:
            self._channels.remove(own)
            own.close()
        return False

    def stop(self) -> None:
        """Kill the processes and wait for their end."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def close(self) -> None:
        """End the processes; nobody may wait for them."""
        self.stop()
        leftovers.forget(self._undo)
        for channel in self._channels:
            channel.close()


class _Process:
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
            if os.waitstatus_to_exitcode(self.wait()) == _TRY_AGAIN:
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


class _ForkedWorker:
    """Function that has a batch computed by a worker in another process; for one thread."""

    def __init__(
        self, process: _Process, channel: Channel, tallies: Sequence[Tally], once: OncePerRun
    ) -> None:
        self._process = process
        self._channel = channel
        self._tallies = tallies
        self._once = once
        self._turn = threading.Lock()

    def __call__(self, batch: Any) -> Any:
        """Return the result of the worker, or raise its error.

        Raises
        ------
        HapgpuError
            The process has ended.
        """
        if isinstance(batch, _KeptBy):
            return batch.worker._computed(batch.part)  # noqa: SLF001  (of the same class)
        return self._computed(batch)

    def _computed(self, batch: Any) -> Any:
        try:
            with self._turn:  # another thread may have a part that is kept here
                reply = self._answer(batch)
        except EndedError as error:
            raise self._process.error() from error
        for tally, drained in zip(self._tallies, reply.counted, strict=True):
            tally.absorb(drained)
        self._once.log(reply.logged)
        if reply.error is not None:
            raise reply.error
        if not isinstance(reply.result, Divided):
            return reply.result
        rest = [
            _KeptBy(self, part) if isinstance(part, _Kept) else part for part in reply.result.rest
        ]
        return Divided(reply.result.result, rest)

    def _answer(self, batch: Any) -> _Reply:
        """Send a batch; answer calls of the worker until its reply."""
        self._channel.send(batch)
        while isinstance(message := self._channel.receive(), Call):
            message.answer(self._channel)
        reply: _Reply = message
        return reply


@contextmanager
def _ready_to_fork() -> Iterator[ExitStack]:
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
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _IGNORED)
        stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        yield stack


def _live(
    pairs: Sequence[tuple[Channel, Channel]],
    workers: Sequence[Worker],
    tallies: Sequence[Tally],
    run: int,
    held: ExitStack,
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
    """
    status = 1
    try:
        if others_import():
            os._exit(_TRY_AGAIN)
        _end_with_the_run(run)
        held.close()
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
    for number in _IGNORED:
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
            self._channel.send(_Reply(result, error, counted, logged))
        except EndedError:
            raise
        except Exception as failure:  # noqa: BLE001  (whatever pickling a result raises)
            self._channel.send(_Reply(None, sendable(failure), counted, logged))

    def _next(self) -> Any:
        """Wait for a batch."""
        batch = self._channel.receive()
        return self._kept.pop(batch.number) if isinstance(batch, _Kept) else batch

    def _with_kept(self, result: Any) -> Any:
        """Keep the parts of a divided batch that are functions."""
        if not isinstance(result, Divided):
            return result
        rest = [self._keep(part) if callable(part) else part for part in result.rest]
        return Divided(result.result, rest)

    def _keep(self, part: Callable[..., Any]) -> _Kept:
        number = next(self._numbers)
        self._kept[number] = part
        return _Kept(number)
