"""Processes that end at any moment: one error, and nothing is left."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import HapgpuError
from hapgpu.runtime import leftovers
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.in_run import InRun
from tests.example_counts import many
from tests.runtime.processes.observed import children, shared_memories
from tests.runtime.processes.running import results_of_run


def segfault() -> None:
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


ENDS: dict[str, tuple[Callable[[], Any], str]] = {
    "killed": (
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        r"was killed, perhaps because memory ran out; use fewer threads \(-t\)",
    ),
    "exits": (lambda: os._exit(3), "ended with status 3; run again with --processes 1"),
    "exits with 0": (lambda: os._exit(0), "ended with status 0; run again with --processes 1"),
    "segfault": (segfault, "ended by SIGSEGV; run again with --processes 1"),
}


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("bad", [0, 6])
@pytest.mark.parametrize("end", ENDS)
def test_within_a_batch(end: str, bad: int, processes: int) -> None:
    fault, message = ENDS[end]

    def work(value: int) -> int:
        if value == bad:
            fault()
        return value

    results: list[int] = []
    with pytest.raises(HapgpuError, match=rf"^worker process \d+: {message}$"):
        results_of_run(range(40), [work] * 5, processes, results=results)
    assert results == list(range(len(results)))
    assert len(results) <= bad


@pytest.mark.parametrize("end", ENDS)
def test_within_a_call_in_the_run(end: str) -> None:
    """The process ends while the run computes for it."""
    waits = InRun(lambda: time.sleep(0.02))

    def work(value: int) -> int:
        if value == 6:
            threading.Timer(0.01, ENDS[end][0]).start()
            waits()
            time.sleep(60)
        return value

    with pytest.raises(HapgpuError, match=r"^worker process \d+: "):
        results_of_run(range(40), [work] * 4, 2)


@pytest.mark.parametrize("seed", range(many(60)))
def test_at_any_moment(seed: int) -> None:
    """Within any message: of arrays, of small objects, of parts that are kept, and of calls."""
    random = Random(seed)  # noqa: S311  (moments, not secrets)
    double = InRun(lambda array: 2 * array)

    def source() -> Iterator[Any]:
        for number in count():
            yield number, np.arange(1 << random.choice([3, 15, 19]))

    def work(batch: Any) -> Any:
        if callable(batch):
            return batch()
        number, array = batch
        if number % 3 == 0:
            return list(range(1 << 16))
        if number % 3 == 1:
            return double(array)
        return Divided(array, [lambda: double(array), lambda: number])

    def kill() -> None:
        while not (found := children() - before):
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.1))
        os.kill(random.choice(sorted(found)), random.choice([signal.SIGKILL, signal.SIGUSR1]))

    before = children()
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(HapgpuError, match=r"^worker process \d+: (was killed|ended by SIGUSR1)"):
        results_of_run(source(), [work] * 5, random.choice([2, 3, 5]), results=Last())
    killer.join()
    assert not shared_memories()
    assert children() == before


class Last(list[Any]):
    """List that keeps nothing."""

    def append(self, value: Any) -> None:
        """Drop a result."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_the_run_are_left_to_it(number: signal.Signals) -> None:
    def work(value: int) -> int:
        os.kill(os.getpid(), number)
        return value

    assert results_of_run(range(9), [work] * 4, 2) == list(range(9))


def test_clearing_up_ends_the_processes() -> None:
    """As a signal does, before it ends the run."""

    def source() -> Iterator[int]:
        for value in count():
            if value == 30:
                leftovers.clear_up()
            yield value

    with pytest.raises(HapgpuError, match="was killed"):
        results_of_run(source(), [abs] * 3, 3, results=Last())


def test_a_program_that_waits_for_all_children() -> None:
    """It takes the status of the processes; the run ends nevertheless."""

    def work(value: int) -> int:
        if value == 7:
            os._exit(3)
        return value

    ended = threading.Event()

    def wait() -> None:
        while not children() and not ended.is_set():
            time.sleep(0.001)
        while not ended.is_set():
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            time.sleep(0.001)

    thread = threading.Thread(target=wait)
    thread.start()
    with pytest.raises(HapgpuError, match=r"^worker process \d+: "):
        results_of_run(range(40), [work] * 4, 2)
    ended.set()
    thread.join()


def test_shared_memory_is_released() -> None:
    """Also of a run that fails with much of it."""
    large = np.zeros(1 << 22)

    def work(value: int) -> Any:
        if value == 9:
            raise ValueError("bad")
        return large

    for _ in range(3):
        with pytest.raises(ValueError, match="bad"):
            results_of_run(range(12), [work] * 4, 2, results=Last())
        assert not shared_memories()
