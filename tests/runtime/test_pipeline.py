"""The pipeline: order, errors, memory, and no threads left at the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import DeviceError
from hapgpu.runtime.inputs import expect, note_position
from hapgpu.runtime.pipeline import batches_ahead, batches_in_flight, run_pipeline
from hapgpu.runtime.progress import NoProgress


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
    run_pipeline([5, 7], [abs], abs, progress=watcher, total=12, threaded=threaded)
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
    run_pipeline([0], [abs], abs, progress=watcher, inputs=["unknown"], threaded=threaded)
    run_pipeline(source(), [abs], abs, progress=watcher, inputs=["a", "b"], threaded=threaded)
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
    may_work = threading.Event()

    def source() -> Iterator[int]:
        nonlocal read, most_ahead
        for value in range(40):
            with lock:
                read += 1
                most_ahead = max(most_ahead, read - taken)
            if value == 20:
                may_work.set()
            yield value

    def work(value: int) -> int:
        nonlocal taken
        with lock:
            taken += 1
        may_work.wait(0.1)
        return value

    run_pipeline(source(), [work] * workers, lambda value: value)
    assert taken == 40
    assert 2 <= most_ahead <= batches_ahead(workers) + workers  # taken, but not counted yet


def test_every_worker_has_its_own_thread() -> None:
    together = threading.Barrier(2, timeout=10)
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
        more.wait(timeout=10)
        yield 1

    with pytest.raises(ValueError, match="disk full"):
        run_pipeline(source(), [abs], fail_at(0, ValueError("disk full")))
    more.set()
    for thread in threading.enumerate():
        if thread.name == "hapgpu-reader":
            thread.join(timeout=10)


@pytest.mark.parametrize("threaded", [False, True])
def test_the_fault_of_a_device_names_the_batch(*, threaded: bool) -> None:
    written: list[int] = []
    worker = fail_at(2, DeviceError("cuda:0: failed (an illegal memory access was encountered)"))
    with pytest.raises(DeviceError, match=r"^cuda:0: failed \(.*\) \(in batch 3 of the input\)$"):
        run_pipeline(range(9), [worker] * 2, sink_into(written), threaded=threaded)
    assert written == [0, 1]
