"""Results of processes are those of threads, in the same order; parts that are functions stay."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread import groups
from hapgpu.runtime import leftovers
from hapgpu.runtime.inputs import expect, note_position
from hapgpu.runtime.output import Divided, Output, PartByPart
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.processes.forked import Processes
from tests.example_counts import many
from tests.runtime.processes.running import COUNTS, results_of_run


@dataclass(frozen=True)
class Batch:
    """A batch that a worker divides into its first result and other parts.

    Attributes
    ----------
    stays
        Whether it is given on as a function, which stays in its process.
    anchors
        Number that the worker holds meanwhile, of a limited number.
    """

    name: int
    stays: bool = False
    anchors: int = 0
    parts: tuple[Batch, ...] = ()

    def names(self) -> list[int]:
        """Return the names of its results, in order."""
        return [self.name, *(name for part in self.parts for name in part.names())]


LEAVES = st.builds(Batch, st.integers(0, 99), st.booleans(), st.sampled_from([0, 0, 3, 9]))
BATCHES = st.lists(
    st.recursive(
        LEAVES,
        lambda parts: st.builds(
            Batch,
            st.integers(0, 99),
            st.booleans(),
            st.just(0),
            st.lists(parts, max_size=4).map(tuple),
        ),
        max_leaves=12,
    ),
    max_size=24,
)


class Worker:
    """Worker that divides batches, each after a delay; it is used by one thread at a time."""

    def __init__(self, budget: groups._AnchorBudget, seed: int) -> None:
        self._budget = budget
        self._random = Random(seed)  # noqa: S311  (delays, not secrets)
        self._is_busy = threading.Lock()

    def __call__(self, batch: Batch | Callable[[], Any]) -> Any:
        with self._alone():
            if not isinstance(batch, Batch):
                return batch()
            return self._computed(batch)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        assert self._is_busy.acquire(blocking=False)
        try:
            yield
        finally:
            self._is_busy.release()

    def _computed(self, batch: Batch) -> Any:
        with self._budget.holding(batch.anchors):
            time.sleep(self._random.random() / 2000)
        result = np.full(1 << 14 if batch.name % 7 == 0 else 1, batch.name)
        parts = [self._kept(part) if part.stays else part for part in batch.parts]
        return Divided(result, parts) if parts else result

    def _kept(self, part: Batch) -> Callable[[], Any]:
        made_in = os.getpid()

        def compute() -> Any:
            assert os.getpid() == made_in
            return self._computed(part)

        return compute


@pytest.mark.parametrize("processes", COUNTS)
@given(BATCHES, st.integers(1, 6), st.none() | st.integers(0, 4), st.integers(0, 20), st.integers())
@settings(max_examples=many(45))
def test_order_under_random_delays(
    processes: int,
    batches: list[Batch],
    workers: int,
    limit: int | None,
    most_anchors: int,
    seed: int,
) -> None:
    workers = max(workers, processes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "GROUP_ANCHORS", 0)
        patch.setattr(groups, "_TRY_SECONDS", 0.0005)
        budget = groups._AnchorBudget(most_anchors)
        staff = [Worker(budget, seed + number) for number in range(workers)]
        found = results_of_run(batches, staff, processes, limit=limit)
    assert [int(result[0]) for result in found] == [n for batch in batches for n in batch.names()]
    assert not budget._held


@pytest.mark.parametrize("processes", [2, 3, 5, 16])
def test_workers_are_divided_evenly(processes: int) -> None:
    """Every worker gets a batch: all wait for each other."""
    workers = 17
    read, write = os.pipe()

    def work(_: int) -> int:
        os.write(write, b".")
        while os.fstat(waiting).st_size < workers:
            time.sleep(0.001)
        return os.getpid()

    waiting = os.memfd_create("waiting")

    def note() -> None:
        for number in range(workers):
            os.read(read, 1)
            os.pwrite(waiting, b".", number)

    thread = threading.Thread(target=note)
    thread.start()
    found = results_of_run(range(workers), [work] * workers, processes)
    thread.join()
    sizes = [found.count(process) for process in set(found)]
    assert len(sizes) == processes
    assert max(sizes) - min(sizes) <= 1
    for descriptor in (read, write, waiting):
        os.close(descriptor)


def test_a_kept_part_is_taken_by_any_thread() -> None:
    """Also while the worker that keeps it has another batch."""

    def work(batch: Any) -> Any:
        if callable(batch):
            return batch()
        parts = [lambda part=part: (batch, part, os.getpid()) for part in range(8)]
        return Divided((batch, -1, os.getpid()), parts)

    found = results_of_run(range(12), [work] * 4, 4)
    assert [each[:2] for each in found] == [(b, p) for b in range(12) for p in range(-1, 8)]
    processes = [{each[2] for each in found[at : at + 9]} for at in range(0, len(found), 9)]
    assert all(len(each) == 1 for each in processes)


@pytest.mark.parametrize("batches", [0, 1, 3, 4, 5])
def test_processes_only_if_every_worker_gets_a_batch(batches: int) -> None:
    found = results_of_run(range(batches), [lambda _: os.getpid()] * 4, 4)
    assert len(found) == batches
    assert (os.getpid() in found) == (0 < batches < 4)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_processes_if_the_inputs_are_long(share: float) -> None:
    """The first batch shows it; then no other batch is awaited before the fork."""
    read: list[int] = []

    def source() -> Iterator[int]:
        expect("file", 100)
        for value in range(12):
            note_position("file", int(100 * share))
            read.append(value)
            yield value

    at_fork: list[int] = []
    fork = os.fork

    def counted() -> int:
        at_fork.append(len(read))
        return fork()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fork", counted)
        run_pipeline(source(), [abs] * 4, abs, extent=["file"], processes=Processes(4))
    assert at_fork == [1 if share == 0.1 else 4] * 4


def test_workers_find_the_locks_free() -> None:
    """The thread that forks holds them; the threads of the process need them."""
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415  (slow)

    def work(value: int) -> int:
        with leftovers.steady(), global_compiler_lock:
            leftovers.forget(leftovers.register(lambda: None))
        return value

    assert results_of_run(range(40), [work] * 6, 2) == list(range(40))


def test_a_fork_while_another_thread_compiles() -> None:
    """Who compiles holds the lock of Numba, and takes that of `leftovers` to store the result."""
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415  (slow)

    compiles = threading.Event()

    def compile_and_store() -> None:
        with global_compiler_lock:
            compiles.set()
            time.sleep(0.05)
            with leftovers.steady():
                pass

    thread = threading.Thread(target=compile_and_store)
    thread.start()
    compiles.wait()
    assert results_of_run(range(9), [abs] * 4, 2) == list(range(9))
    thread.join()


def test_a_fork_while_another_thread_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process forked meanwhile would wait for the lock of the module for ever."""
    forks = count()
    fork = os.fork

    def counted() -> int:
        next(forks)
        return fork()

    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_module.py").write_text("import time; time.sleep(0.1); VALUE = 5")
    thread = threading.Thread(target=import_module, args=("slow_module",))
    thread.start()
    while "slow_module" not in sys.modules:
        time.sleep(0.001)

    def work(value: int) -> int:
        return value + import_module("slow_module").VALUE

    assert results_of_run(range(12), [work] * 4, 2) == list(range(5, 17))
    thread.join()
    del sys.modules["slow_module"]
    assert next(forks) > 2


def test_pipelines_at_once() -> None:
    """In several threads of a program; each has its own processes."""
    found: dict[int, list[int]] = {}

    def run(number: int) -> None:
        found[number] = results_of_run(range(30), [lambda value: value + number] * 3, 3)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: list(range(number, number + 30)) for number in range(4)}


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_items_of_outputs_one_by_one(processes: int) -> None:
    """They are made in the process of their batch, and counted once."""

    def work(batch: int) -> Output[Iterator[tuple[int, int, int]]]:
        return Output(((batch, item, os.getpid()) for item in range(batch % 4)), {"reads": 1}, 2)

    outputs = results_of_run(range(40), [PartByPart(work)] * 6, processes)
    items = [item for output in outputs for item in output.content]
    assert [item[:2] for item in items] == [(k, item) for k in range(40) for item in range(k % 4)]
    assert len({item[::2] for item in items}) == 30  # a batch stays in its process
    assert all(len(output.content) <= 1 for output in outputs)
    assert sum(output.counts.get("reads", 0) for output in outputs) == 40
    assert sum(output.units for output in outputs) == 80


def test_items_are_made_when_the_one_before_is_written() -> None:
    made: list[int] = []
    before: list[int] = []

    def items() -> Iterator[int]:
        for item in range(5):
            made.append(item)
            yield item

    def write(_: Output[list[int]]) -> int:
        before.append(len(made))
        return 1

    workers = [PartByPart(lambda _: Output(items(), {}, 1))]
    run_pipeline([0], workers, write, threaded=False)
    assert made == list(range(5))
    assert before == [1, 2, 3, 4, 5, 5]
