"""The pipeline: order, errors, memory, and no threads left at the end."""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import DeviceError
from hapgpu.runtime.inputs import expect, note_position
from hapgpu.runtime.output import Divided
from hapgpu.runtime.pipeline import (
    Budget,
    batches_ahead,
    batches_in_flight,
    ordered_results,
    results_of,
    run_pipeline,
)
from hapgpu.runtime.progress import NoProgress
from tests.example_counts import many

TIMEOUT = 60.0


class Watcher(NoProgress):
    """Progress that records its calls."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int | None]] = []
        self.fractions: list[float | None] = []

    def start(self, total: int | None) -> None:
        self.events.append(("start", total))

    def advance(self, count: int, fraction: float | None = None) -> None:
        self.events.append(("advance", count))
        self.fractions.append(fraction)

    def finish(self) -> None:
        self.events.append(("finish", None))


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def sink_into(results: list[int]) -> Callable[[int], int]:
    def sink(result: int) -> int:
        results.append(result)
        return 1

    return sink


def fail_at(bad: int, error: BaseException) -> Callable[[int], int]:
    def step(value: int) -> int:
        if value == bad:
            raise error
        return value

    return step


@given(st.integers(0, 40), st.integers(1, 5), st.integers())
@settings(max_examples=25)
def test_order_under_random_delays(batches: int, workers: int, seed: int) -> None:
    delays = random.Random(seed)  # noqa: S311  (reproducible delays, not secrets)

    def double(value: int) -> int:
        time.sleep(delays.random() / 1000)
        return 2 * value

    results: list[int] = []
    run_pipeline(range(batches), [double] * workers, sink_into(results))
    assert results == [2 * value for value in range(batches)]


@pytest.mark.parametrize("threaded", [True, False])
def test_progress_gets_each_written_batch(*, threaded: bool) -> None:
    watcher = Watcher()
    run_pipeline([5, 7], [abs], abs, progress=watcher, extent=12, threaded=threaded)
    assert watcher.events == [("start", 12), ("advance", 5), ("advance", 7), ("finish", None)]


@pytest.mark.parametrize("threaded", [True, False])
def test_progress_gets_the_position_of_each_batch_in_the_inputs(threaded: bool) -> None:
    def source() -> Iterator[int]:
        expect("a", 30)
        expect("b", 10)
        for position in (10, 30):
            note_position("a", position)
            yield position
        note_position("b", 11)
        yield 11

    watcher = Watcher()
    run_pipeline([0], [abs], abs, progress=watcher, extent=["unknown"], threaded=threaded)
    run_pipeline(source(), [abs], abs, progress=watcher, extent=["a", "b"], threaded=threaded)
    assert watcher.fractions == [None, 0.25, 0.75, 1.0]


@pytest.mark.parametrize("threaded", [True, False])
@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("stage", ["source", "worker", "sink"])
def test_error_in_any_stage_surfaces_once(
    stage: str, error: BaseException, *, threaded: bool
) -> None:
    results: list[int] = []
    step = fail_at(9, error)
    watcher = Watcher()

    def write(value: int) -> int:
        return sink_into(results)(step(value) if stage == "sink" else value)

    with pytest.raises(type(error)) as caught:
        run_pipeline(
            map(step, range(100)) if stage == "source" else range(100),
            [step if stage == "worker" else abs] * 3,
            write,
            progress=watcher,
            threaded=threaded,
        )
    assert caught.value is error
    assert results == list(range(9))
    assert watcher.events[-1] == ("finish", None)


def test_first_error_in_the_order_of_the_batches_wins() -> None:
    def work(value: int) -> int:
        if value == 0:
            time.sleep(0.02)
        message = f"batch {value}"
        raise ValueError(message)

    with pytest.raises(ValueError, match="batch 0"):
        run_pipeline(range(10), [work] * 3, abs)


def test_source_ends_soon_after_an_error() -> None:
    read: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            read.append(len(read))
            yield len(read)

    with pytest.raises(ValueError, match="full"):
        run_pipeline(endless(), [abs] * 2, fail_at(3, ValueError("full")))
    assert len(read) <= 3 + batches_in_flight(2)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("slow", ["first batch", "sink"])
def test_bounded_number_of_batches_in_flight(workers: int, slow: str) -> None:
    lock = threading.Lock()
    alive = max_alive = 0

    def read() -> Iterator[int]:
        nonlocal alive, max_alive
        for value in range(30):
            with lock:
                alive += 1
                max_alive = max(max_alive, alive)
            yield value

    def work(value: int) -> int:
        if slow == "first batch" and value == 0:
            time.sleep(0.05)
        return value

    def write(value: int) -> int:
        nonlocal alive
        if slow == "sink":
            time.sleep(0.001)
        with lock:
            alive -= 1
        return value

    run_pipeline(read(), [work] * workers, write)
    assert alive == 0
    assert max_alive <= batches_in_flight(workers)


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_the_reader_runs_few_batches_ahead_of_the_workers(workers: int) -> None:
    lock = threading.Lock()
    read = taken = most_ahead = 0
    is_ahead, may_work = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        nonlocal read, most_ahead
        for value in range(40):
            with lock:
                read += 1
                most_ahead = max(most_ahead, read - taken)
            if most_ahead >= 2:
                is_ahead.set()
            if value == 20:
                may_work.set()
            yield value

    def work(value: int) -> int:
        nonlocal taken
        with lock:
            taken += 1
        is_ahead.wait(TIMEOUT)
        may_work.wait(0.1)
        return value

    run_pipeline(source(), [work] * workers, lambda value: value)
    assert taken == 40
    assert 2 <= most_ahead <= batches_ahead(workers) + workers  # taken, but not counted yet


def test_every_worker_has_its_own_thread() -> None:
    together = threading.Barrier(2, timeout=TIMEOUT)
    seen: list[list[int]] = [[], []]

    def worker(index: int) -> Callable[[int], int]:
        def work(value: int) -> int:
            together.wait()
            seen[index].append(threading.get_ident())
            return value

        return work

    run_pipeline(range(2), [worker(0), worker(1)], abs)
    assert len({*seen[0], *seen[1], threading.get_ident()}) == 3


def test_without_threads_all_runs_in_the_calling_thread() -> None:
    idents: set[int] = set()

    def note(value: int) -> int:
        idents.add(threading.get_ident())
        return value

    run_pipeline(map(note, range(3)), [note, note], note, threaded=False)
    assert idents == {threading.get_ident()}


def test_error_while_the_reader_waits_for_input() -> None:
    more = threading.Event()

    def source() -> Iterator[int]:
        yield 0
        more.wait(TIMEOUT)
        yield 1

    with pytest.raises(ValueError, match="disk full"):
        run_pipeline(source(), [abs], fail_at(0, ValueError("disk full")))
    more.set()
    for thread in threading.enumerate():
        if thread.name == "hapgpu-reader":
            thread.join(TIMEOUT)


@pytest.mark.parametrize("threaded", [False, True])
def test_the_fault_of_a_device_names_the_batch(*, threaded: bool) -> None:
    written: list[int] = []
    worker = fail_at(2, DeviceError("cuda:0: failed (an illegal memory access was encountered)"))
    with pytest.raises(DeviceError, match=r"^cuda:0: failed \(.*\) \(in batch 3 of the input\)$"):
        run_pipeline(range(9), [worker] * 2, sink_into(written), threaded=threaded)
    assert written == [0, 1]


@dataclass(frozen=True)
class Tree:
    """A batch that a worker divides: the size of its first result, and its other parts."""

    name: int
    size: int
    parts: tuple[Tree, ...] = ()

    def results(self) -> list[Tree]:
        """All results, in order, each without its parts."""
        return [Tree(self.name, self.size), *(r for part in self.parts for r in part.results())]


LEAVES = st.builds(Tree, st.integers(0, 99), st.integers(0, 9))
TREES = st.recursive(
    LEAVES,
    lambda parts: st.builds(
        Tree, st.integers(0, 99), st.integers(0, 9), st.lists(parts, max_size=4).map(tuple)
    ),
    max_leaves=20,
)


def divide(tree: Tree) -> Tree | Divided[Tree, Tree]:
    first = Tree(tree.name, tree.size)
    return Divided(first, tree.parts) if tree.parts else first


@given(st.lists(TREES, max_size=8), st.integers(1, 4), st.integers(0, 30), st.booleans())
@settings(max_examples=many(200), deadline=None)
def test_parts_are_written_in_order_within_the_budget(
    batches: list[Tree], workers: int, limit: int, threaded: bool
) -> None:
    lock = threading.Lock()
    alive = most = 0
    written: list[Tree] = []
    watcher = Watcher()

    def work(tree: Tree) -> Tree | Divided[Tree, Tree]:
        nonlocal alive, most
        with lock:
            alive += tree.size
            most = max(most, alive)
        return divide(tree)

    def write(result: Tree) -> int:
        nonlocal alive
        written.append(result)
        with lock:
            alive -= result.size
        return 1

    run_pipeline(
        batches,
        [work] * workers,
        write,
        budget=Budget(limit, lambda result: result.size),
        progress=watcher,
        threaded=threaded,
    )
    expected = [batch.results() for batch in batches]
    assert written == [result for results in expected for result in results]
    counts = [("advance", len(results)) for results in expected]
    assert watcher.events == [("start", None), *counts, ("finish", None)]
    largest = max((result.size for result in written), default=0)
    assert alive == 0
    assert most <= limit + (workers + 1) * largest


@pytest.mark.parametrize("limit", [0, 1, 10])
def test_workers_wait_while_the_sink_holds_the_budget(limit: int) -> None:
    lock = threading.Lock()
    computed = 0
    most_ahead = 0
    written = 0

    def work(value: int) -> int | Divided[int, int]:
        nonlocal computed, most_ahead
        with lock:
            computed += 1
            most_ahead = max(most_ahead, computed - written)
        return Divided(value, range(1, 200)) if value == 0 else value

    def write(_: int) -> int:
        nonlocal written
        with lock:
            written += 1
        return 1

    run_pipeline([0], [work] * 3, write, budget=Budget(limit, lambda _: 1))
    assert written == computed == 200
    assert most_ahead <= limit + 4


def test_a_failure_lets_go_of_its_batch() -> None:
    """While the error waits for the results before it."""
    gone = threading.Event()

    class Batch:
        def __init__(self, number: int) -> None:
            self.number = number
            if number == 1:
                weakref.finalize(self, gone.set)

    def work(batch: Batch) -> int:
        if batch.number == 1:
            try:
                no_number = {}[batch.number]
            except KeyError as error:
                raise ValueError(batch.number) from error
            return no_number
        assert gone.wait(60)
        return batch.number

    with pytest.raises(ValueError, match="1"):
        run_pipeline((Batch(number) for number in range(2)), [work] * 2, lambda _: 1)
    assert gone.is_set()


@pytest.mark.parametrize("threaded", [True, False])
def test_an_error_in_a_part_comes_after_the_results_before_it(*, threaded: bool) -> None:
    written: list[int] = []

    def work(value: int) -> int | Divided[int, int]:
        if value == 13:
            raise DeviceError("cuda:0: failed")
        return Divided(value, [11, 12, 13, 14]) if value == 1 else value

    with pytest.raises(DeviceError, match=r"^cuda:0: failed \(in batch 2 of the input\)$"):
        run_pipeline(
            range(9),
            [work] * 2,
            sink_into(written),
            budget=Budget(1, lambda _: 1),
            threaded=threaded,
        )
    assert written == [0, 1, 11, 12]


def test_an_error_of_the_sink_lets_waiting_workers_go() -> None:
    def work(value: int) -> int | Divided[int, int]:
        return Divided(value, range(100, 200)) if value < 100 else value

    with pytest.raises(ValueError, match="full"):
        run_pipeline(
            range(50),
            [work] * 3,
            fail_at(120, ValueError("full")),
            budget=Budget(0, lambda _: 1),
        )


@given(TREES)
def test_the_results_of_one_batch_come_in_order(batch: Tree) -> None:
    assert list(results_of(divide, batch)) == batch.results()


@pytest.mark.parametrize("threaded", [False, True])
def test_ordered_results_at_the_pace_of_the_caller(*, threaded: bool) -> None:
    """Few batches are read ahead of the caller."""
    read: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    results = ordered_results(source(), [abs] * 2, lambda _: 1, threaded=threaded)
    assert [next(results) for _ in range(5)] == list(range(5))
    time.sleep(0.05)
    assert len(read) <= 5 + batches_in_flight(2)
    assert list(results) == list(range(5, 100))


@pytest.mark.parametrize("threaded", [False, True])
def test_closing_ordered_results_ends_the_threads(*, threaded: bool) -> None:
    before = set(threading.enumerate())
    watcher = Watcher()
    results = ordered_results(
        count(), [abs] * 3, lambda _: 2, progress=watcher, extent=9, threaded=threaded
    )
    assert [next(results), next(results)] == [0, 1]
    results.close()
    assert set(threading.enumerate()) == before
    assert watcher.events == [("start", 9), ("advance", 2), ("finish", None)]


def test_errors_of_ordered_results_come_after_the_results_before_them() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("third")
        return number

    found = []
    with pytest.raises(ValueError, match="third"):
        found.extend(ordered_results(range(9), [work] * 2, lambda _: 1))
    results = ordered_results(range(9), [work] * 2, lambda _: 1)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="third"):
        next(results)
