"""Functions that are computed in the run, whichever process calls them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from hapgpu.runtime.processes.in_run import InRun, TurnInRun
from tests.runtime.processes.running import COUNTS, results_of_run


def place(value: int) -> tuple[int, int]:
    return os.getpid(), value


def calling(function: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda value: (os.getpid(), function(value))


def test_in_the_run() -> None:
    assert InRun(place)(3) == (os.getpid(), 3)


@pytest.mark.parametrize("processes", COUNTS)
def test_in_workers(processes: int) -> None:
    """In several threads of several processes."""
    found = results_of_run(range(48), [calling(InRun(place))] * 16, processes)
    assert [outcome for _, outcome in found] == [(os.getpid(), value) for value in range(48)]
    assert (os.getpid() in {process for process, _ in found}) == (processes == 1)


def test_calls_at_once() -> None:
    """Worker threads of two processes wait for each other within the function."""
    together = threading.Barrier(4, timeout=60)

    def wait(value: int) -> int:
        together.wait()
        return value

    found = results_of_run(range(16), [calling(InRun(wait))] * 4, 2)
    assert [value for _, value in found] == list(range(16))


def test_several_calls_of_several_functions_for_a_batch() -> None:
    held = 0

    def add(number: int, *, times: int) -> int:
        nonlocal held
        held += number * times
        return held

    double = InRun(lambda array: 2 * array)
    add_in_run = InRun(add)

    def work(value: int) -> Any:
        array = np.full(1 << 16, value)
        for _ in range(3):
            array = double(array)
        add_in_run(value, times=2)
        return array

    found = results_of_run(range(12), [work] * 2, 2)
    assert [int(array.min()) for array in found] == [8 * value for value in range(12)]
    assert held == 2 * sum(range(12))


class UnpicklableError(Exception):
    """Error that cannot be pickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")
        self.function = lambda: None


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("error", ValueError, "bad 3"),
        ("unpicklable error", (RuntimeError, UnpicklableError), "bad 3"),
    ],
)
def test_an_error_is_raised_where_the_worker_calls(
    processes: int, fault: str, kind: Any, message: str
) -> None:
    def check(value: int) -> int:
        if value % 4 == 3:
            error = f"bad {value}"
            raise ValueError(error) if fault == "error" else UnpicklableError("bad", str(value))
        return value

    check_in_run = InRun(check)

    def work(value: int) -> int:
        try:
            return check_in_run(value)
        except kind:
            return -check_in_run(value - 1)

    expected = [-(value - 1) if value % 4 == 3 else value for value in range(20)]
    assert results_of_run(range(20), [work] * 4, processes) == expected
    results: list[int] = []
    with pytest.raises(kind, match=message):
        results_of_run(range(20), [check_in_run] * 4, processes, results=results)
    assert results == [0, 1, 2]


def test_a_result_or_an_argument_that_cannot_be_pickled() -> None:
    """The worker gets the error, and goes on."""
    odd = InRun(lambda value: (lambda: None) if value % 2 else value)
    given = InRun(callable)

    def work(value: int) -> str:
        with suppress(Exception):  # of pickle, which differs
            return str(odd(value))
        with suppress(Exception):
            return str(given(lambda: None))
        return "error"

    found = results_of_run(range(8), [work] * 2, 2)
    assert found == ["0", "error", "2", "error", "4", "error", "6", "error"]


def test_one_worker_has_the_turn() -> None:
    """Of all threads of all processes."""
    turn, inside, most = TurnInRun(), [0], [0]

    def enter() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])

    def leave() -> None:
        inside[0] -= 1

    entered, left = InRun(enter), InRun(leave)

    def work(value: int) -> int:
        with turn:
            entered()
            time.sleep(0.002)
            left()
        return value

    assert results_of_run(range(20), [work] * 4, 2) == list(range(20))
    assert most == [1]


def test_one_that_a_worker_makes_is_computed_there() -> None:
    def work(value: int) -> tuple[int, int]:
        return InRun(place)(value)

    found = results_of_run(range(8), [work] * 2, 2)
    assert [value for _, value in found] == list(range(8))
    assert os.getpid() not in {process for process, _ in found}
