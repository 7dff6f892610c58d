"""Turns of threads on the memory of a GPU, with a simulated memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.memory_turns import MemoryTurns, TooLittleMemoryError, memory_turns

TIMEOUT = 60.0


class SimulatedMemory:
    """Memory of a GPU that raises MemoryError where it is full."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.used = 0
        self.users = 0
        self.most_users = 0
        self._lock = threading.Lock()

    def compute(self, sizes: list[int], end: Callable[[], None] = lambda: None) -> int:
        """Take each of the sizes in turn; return their sum."""
        taken = 0
        with self._lock:
            self.users += 1
            self.most_users = max(self.users, self.most_users)
        try:
            for size in sizes:
                with self._lock:
                    if self.used + size > self.size:
                        raise MemoryError
                    self.used += size
                taken += size
            end()
            return taken
        finally:
            with self._lock:
                self.used -= taken
                self.users -= 1


def in_threads(works: list[Callable[[], None]]) -> None:
    """Run all works at the same time; fail if one of them never ends."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert not any(thread.is_alive() for thread in threads), "deadlock"


@settings(max_examples=60, deadline=None)
@given(
    workers=st.lists(
        st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=4), max_size=6),
        min_size=1,
        max_size=6,
    ),
    size=st.integers(0, 120),
)
def test_all_that_fits_alone_is_computed(workers: list[list[list[int]]], size: int) -> None:
    memory = SimulatedMemory(size)
    turns = MemoryTurns(release=lambda: None)
    results: dict[tuple[int, int], int | None] = {}

    def work(number: int, batches: list[list[int]]) -> None:
        for row, sizes in enumerate(batches):
            try:
                results[number, row] = turns.compute(lambda sizes=sizes: memory.compute(sizes))
            except MemoryError:
                results[number, row] = None

    in_threads([lambda n=n, batches=batches: work(n, batches) for n, batches in enumerate(workers)])
    assert results == {
        (number, row): sum(sizes) if sum(sizes) <= size else None
        for number, batches in enumerate(workers)
        for row, sizes in enumerate(batches)
    }
    assert memory.used == 0


def test_turns_run_at_the_same_time() -> None:
    turns = MemoryTurns(release=lambda: None)
    both = threading.Barrier(2, timeout=TIMEOUT)
    in_threads([lambda: turns.compute(both.wait) and None] * 2)
    assert not both.broken


def test_large_work_waits_for_the_others() -> None:
    memory = SimulatedMemory(10)
    turns = MemoryTurns(release=lambda: None)
    started, may_end = threading.Event(), threading.Event()
    tries: list[int] = []
    done: list[int] = []

    def small() -> None:
        turns.compute(lambda: memory.compute([2], end=lambda: hold(started, may_end)))

    def large() -> None:
        started.wait(TIMEOUT)

        def attempt() -> int:
            tries.append(memory.used)
            if len(tries) == 1:
                may_end.set()
            return memory.compute([9])

        done.append(turns.compute(attempt))

    in_threads([small, large])
    assert done == [9]
    assert tries == [2, 0]


def hold(started: threading.Event, may_end: threading.Event) -> None:
    started.set()
    assert may_end.wait(TIMEOUT)


def test_fewer_threads_compute_after_a_failure_and_more_later() -> None:
    memory = SimulatedMemory(10)
    turns = MemoryTurns(release=lambda: None)
    started, failed = threading.Event(), threading.Event()

    def small() -> None:
        turns.compute(lambda: memory.compute([2], end=lambda: hold(started, failed)))

    def large() -> None:
        started.wait(TIMEOUT)
        failed.set() if memory.used else None
        memory.compute([9])

    in_threads([small, lambda: turns.compute(large)])
    memory.most_users = 0
    in_threads([lambda: turns.compute(lambda: memory.compute([1])) and None] * 8)
    assert memory.most_users == 1
    for _ in range(40):
        turns.compute(lambda: memory.compute([1]))
    both = threading.Barrier(2, timeout=TIMEOUT)
    in_threads([lambda: turns.compute(both.wait) and None] * 2)
    assert not both.broken


def test_work_that_fails_by_itself_does_not_slow_the_others() -> None:
    turns = MemoryTurns(release=lambda: None)
    with pytest.raises(MemoryError):
        turns.compute(lambda: SimulatedMemory(10).compute([11]))
    both = threading.Barrier(2, timeout=TIMEOUT)
    in_threads([lambda: turns.compute(both.wait) and None] * 2)
    assert not both.broken


def test_work_within_a_turn_has_the_turn() -> None:
    turns = MemoryTurns(release=lambda: None)
    calls: list[str] = []

    def inner() -> None:
        calls.append("inner")
        if len(calls) < 4:
            raise MemoryError

    def outer() -> None:
        calls.append("outer")
        turns.compute(inner)

    turns.compute(outer)
    assert calls == ["outer", "inner", "outer", "inner"]


def test_other_errors_end_a_turn() -> None:
    turns = MemoryTurns(release=lambda: None)

    def fail() -> None:
        raise KeyError

    for _ in range(3):
        with pytest.raises(KeyError):
            turns.compute(fail)
    in_threads([lambda: turns.compute(lambda: None)])


def test_memory_is_released_before_work_alone() -> None:
    events: list[str] = []
    turns = MemoryTurns(release=lambda: events.append("release"))

    def work() -> None:
        events.append("work")
        if len(events) == 1:
            raise MemoryError

    turns.compute(work)
    assert events == ["work", "release", "work"]


def test_a_gpu_has_one_object() -> None:
    pytest.importorskip("cupy")
    assert memory_turns(CudaDevice(0)) is memory_turns(CudaDevice(0, memory_limit=5))
    assert memory_turns(CudaDevice(0)) is not memory_turns(CudaDevice(1))


def test_the_message_of_too_little_memory_is_kept() -> None:
    pytest.importorskip("cupy")
    from hapgpu.runtime.gpu.context import device_errors  # noqa: PLC0415  (imports CuPy)

    with pytest.raises(DeviceError, match="a read of 5 bases"), device_errors(CudaDevice(0)):
        raise TooLittleMemoryError("a read of 5 bases")


def test_errors_of_sorts_are_errors_of_the_device() -> None:
    """They have no class of their own."""
    pytest.importorskip("cupy")
    from hapgpu.runtime.gpu.context import device_errors  # noqa: PLC0415  (imports CuPy)

    message = "transform: failed inside CUB: cudaErrorIllegalAddress: an illegal memory access"
    with (
        pytest.raises(DeviceError, match=r"cuda:0 .*: failed .transform"),
        device_errors(CudaDevice(0)),
    ):
        raise RuntimeError(message)
    with pytest.raises(RuntimeError, match="dictionary"), device_errors(CudaDevice(0)):
        raise RuntimeError("dictionary changed size")
