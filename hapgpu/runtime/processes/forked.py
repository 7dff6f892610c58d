"""Workers of a pipeline in forked processes, and the functions by which the pipeline calls them.

A process is forked from the run: it has its index, its open inputs and its compiled functions, and
copies nothing of them. It never uses CUDA, which does not survive a fork; see `in_run`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from hapgpu.errors import HapgpuError
from hapgpu.runtime import leftovers
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.channel import Channel, EndedError
from hapgpu.runtime.processes.child import ChildProcess, ready_to_fork
from hapgpu.runtime.processes.desk import Worker, live
from hapgpu.runtime.processes.in_run import Call, functions_in_run
from hapgpu.runtime.processes.messages import Kept, Reply
from hapgpu.runtime.processes.tallies import OncePerRun, Tally

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
    starts
        Functions that processes call first, in their order; none: nothing is called.
    """

    count: int
    shared: Sequence[object] = ()
    tallies: Sequence[Tally] = ()
    starts: Sequence[Callable[[], object]] = ()

    def start_of(self, number: int) -> Callable[[], object]:
        """Return what the process of a number calls first."""
        return self.starts[number % len(self.starts)] if self.starts else _nothing


def _nothing() -> None:
    """Do nothing."""


ONE_PROCESS: Final = Processes(1)


@dataclass(frozen=True, slots=True)
class _Part:
    """Workers of a process, and what it calls first."""

    workers: Sequence[Worker]
    start: Callable[[], object]


@dataclass(frozen=True, slots=True)
class _KeptBy:
    """Such a part, and the worker whose process keeps it."""

    worker: _ForkedWorker
    part: Kept


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
        self._processes: list[ChildProcess] = []
        self._undo = leftovers.register(self.stop)
        to_start = [
            _Part(workers[start:end], processes.start_of(number))
            for number, (start, end) in enumerate(pairwise(cuts))
        ]
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

    def _fork(self, part: _Part, processes: Processes) -> tuple[ChildProcess, list[Channel]]:
        """Fork a process; return it, and its channels.

        Raises
        ------
        HapgpuError
            The system refuses processes, descriptors or memory.
        """
        shared = [*processes.shared, *processes.tallies, *functions_in_run()]
        run = os.getpid()
        # Within `ready_to_fork`, no process that is forked meanwhile keeps the other ends open.
        with ready_to_fork() as held, ExitStack() as stack:
            try:
                pairs = [self._pair(stack, shared) for _ in part.workers]
                number = os.fork()
            except OSError as error:
                raise HapgpuError(
                    f"worker processes cannot be started ({error.strerror}); use fewer threads (-t)"
                    " or raise the limits of processes and open files (ulimit -u, ulimit -n)"
                ) from error
            if not number:
                stack.pop_all()
                live(pairs, part.workers, processes.tallies, run, held, part.start)
            process = ChildProcess(number)
            self._processes.append(process)
        return process, [own for own, _ in pairs]

    def _pair(self, stack: ExitStack, shared: Sequence[object]) -> tuple[Channel, Channel]:
        """Return both ends of a channel; a stack closes the connection of the other end."""
        own, other = Channel.pair(shared)
        stack.callback(other.close_connection)
        self._channels.append(own)
        return own, other

    def _has_started(
        self, process: ChildProcess, channels: Sequence[Channel], tallies: Sequence[Tally]
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


class _ForkedWorker:
    """Function that has a batch computed by a worker in another process; for one thread."""

    def __init__(
        self, process: ChildProcess, channel: Channel, tallies: Sequence[Tally], once: OncePerRun
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
            _KeptBy(self, part) if isinstance(part, Kept) else part for part in reply.result.rest
        ]
        return Divided(reply.result.result, rest)

    def _answer(self, batch: Any) -> Reply:
        """Send a batch; answer calls of the worker until its reply."""
        self._channel.send(batch)
        while isinstance(message := self._channel.receive(), Call):
            message.answer(self._channel)
        reply: Reply = message
        return reply
