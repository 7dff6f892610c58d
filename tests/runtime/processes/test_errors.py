"""Errors of a run with processes: raised once, in order, and as they are in threads."""

from __future__ import annotations

import os
import re
import resource
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hapgpu.errors import DeviceError, HapgpuError, InputError
from hapgpu.runtime import leftovers
from hapgpu.runtime.output import Divided
from tests.runtime.processes.running import results_of_run

PROCESSES = [1, 2, 3]
ERRORS = [ValueError("bad"), InputError("file, record 3: bad"), KeyboardInterrupt(), SystemExit(3)]


def fail_at(bad: int, error: BaseException) -> Callable[[int], int]:
    def step(value: int) -> int:
        if value == bad:
            raise error
        return value

    return step


@pytest.mark.parametrize("processes", PROCESSES)
@pytest.mark.parametrize("bad", [0, 1, 9])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("stage", ["source", "worker"])
def test_after_the_results_before_it(
    processes: int, bad: int, error: BaseException, stage: str
) -> None:
    """Of the source also while it is read before the fork."""
    step, results = fail_at(bad, error), list[int]()
    source = map(step, range(40)) if stage == "source" else range(40)
    work = step if stage == "worker" else abs
    with pytest.raises(type(error)) as caught:
        results_of_run(source, [work] * 3, processes, results=results)
    assert results == list(range(bad))
    assert caught.value.args == error.args


@pytest.mark.parametrize("processes", PROCESSES)
def test_of_the_sink(processes: int) -> None:
    class Written(list[int]):
        def append(self, value: int) -> None:
            fail_at(9, ValueError("full"))(value)
            super().append(value)

    results = Written()
    with pytest.raises(ValueError, match="full"):
        results_of_run(range(40), [abs] * 3, processes, results=results)
    assert results == list(range(9))


@pytest.mark.parametrize("processes", PROCESSES)
def test_the_first_in_the_order_of_the_batches(processes: int) -> None:
    def work(value: int) -> int:
        if value >= 5:
            error = f"batch {value}"
            raise ValueError(error)
        return value

    results: list[int] = []
    with pytest.raises(ValueError, match=r"^batch 5") as caught:
        results_of_run(range(40), [work] * 7, processes, results=results)
    assert str(caught.value) == "batch 5"
    assert results == list(range(5))


@pytest.mark.parametrize("processes", PROCESSES)
def test_of_a_device(processes: int) -> None:
    worker = fail_at(7, DeviceError("cuda:0: failed"))
    with pytest.raises(DeviceError, match=r"^cuda:0: failed \(in batch 8 of the input\)"):
        results_of_run(range(40), [worker] * 3, processes)


@pytest.mark.parametrize("processes", PROCESSES)
def test_in_a_part_that_is_kept(processes: int) -> None:
    def work(batch: Any) -> Any:
        if callable(batch):
            return batch()
        return Divided(batch, [abs, lambda: 5, fail]) if batch == 3 else batch

    def fail() -> int:
        raise ValueError("last part")

    results: list[int] = []
    with pytest.raises(Exception, match=r"abs\(\) takes"):
        results_of_run(range(9), [work] * 3, processes, results=results)
    assert results == [0, 1, 2, 3]


def test_the_note_says_where() -> None:
    """Notes of its own stay."""

    def work(value: int) -> int:
        if value == 4:
            error = ValueError("bad")
            error.add_note("a note")
            raise error from KeyError("cause")
        return value

    with pytest.raises(ValueError, match="bad") as caught:
        results_of_run(range(9), [work] * 3, 3)
    text = "".join(traceback.format_exception(caught.value))
    assert caught.value.__notes__[0] == "a note"
    assert re.search(r"in process \d+:\n(.*\n)*.*KeyError: 'cause'\n", text)
    assert "test_errors.py" in caught.value.__notes__[1]


class OddError(HapgpuError):
    """Error that can be pickled, but not unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def test_that_cannot_be_unpickled() -> None:
    with pytest.raises(RuntimeError, match=r"^OddError: one two") as caught:
        results_of_run(range(9), [fail_at(5, OddError("one", "two"))] * 3, 3)
    assert "in step" in caught.value.__notes__[0]


def test_that_cannot_be_pickled() -> None:
    class LocalError(Exception):
        def __init__(self) -> None:
            super().__init__("local")
            self.function = lambda: None

    with pytest.raises(RuntimeError, match=r"^LocalError: local"):
        results_of_run(range(9), [fail_at(5, LocalError())] * 3, 3)


class Unpicklable:
    """Object that fails in its own way when it is pickled, or unpickled."""

    def __init__(self, when: str) -> None:
        self.when = when

    def __reduce__(self) -> Any:
        if self.when == "pickled":
            raise ZeroDivisionError("not this one")
        return _fail, ()


def _fail() -> None:
    raise ZeroDivisionError("not this one")


@pytest.mark.parametrize("when", ["pickled", "unpickled"])
@pytest.mark.parametrize("what", ["batch", "result", "part"])
def test_what_cannot_be_sent(what: str, when: str) -> None:
    """It is the error of its batch; the others come before it."""
    odd = Unpicklable(when)

    def source() -> Iterator[Any]:
        for value in range(20):
            yield odd if what == "batch" and value == 6 else value

    def work(value: Any) -> Any:
        if what == "result" and value == 6:
            return odd
        return Divided(value, [odd]) if what == "part" and value == 5 else value

    results: list[Any] = []
    with pytest.raises(ZeroDivisionError, match="not this one"):
        results_of_run(source(), [work] * 4, 2, results=results)
    assert results == list(range(5 if what == "part" else 6))


@pytest.mark.parametrize("forks", [0, 1, 2])
def test_a_system_without_room_for_processes(forks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fork, left = os.fork, iter(range(forks))

    def refuse() -> int:
        if next(left, None) is None:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(HapgpuError, match=r"cannot be started \(Resource .*-t.*ulimit"):
        results_of_run(range(9), [abs] * 4, 4)


@pytest.mark.parametrize("room", range(0, 16, 3))
def test_a_system_without_room_for_descriptors(room: int) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)  # the lowest number; numbers above it may be taken
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + room, limits[1]))
    try:
        with pytest.raises(HapgpuError, match=r"cannot be started \(Too many open files\)"):
            results_of_run(range(90), [abs] * 64, 4)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_nothing_is_registered_afterwards() -> None:
    before = dict(leftovers._registered)
    with pytest.raises(ValueError, match="bad"):
        results_of_run(range(9), [fail_at(4, ValueError("bad"))] * 3, 3)
    assert leftovers._registered == before
