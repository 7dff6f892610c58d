"""Values go from batch to batch, whichever threads compute them, and failures go with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hapgpu.runtime.relay import AbandonedError, Relay
from tests.runtime.processes.running import results_of_run


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sums_in_order(threads: int) -> None:
    relay = Relay(0)

    def add(number: int) -> int:
        before = relay.wait(number)
        relay.put(number, before + number)
        return before

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(add, range(200)))
    assert found == [number * (number - 1) // 2 for number in range(200)]


def test_the_first_value_counts() -> None:
    relay = Relay("a")
    assert relay.wait(0) == "a"
    relay.put(0, "b")
    relay.put(0, "c")
    relay.abandon(0)
    assert relay.wait(1) == "b"


def test_all_batches_after_a_failure_end() -> None:
    relay = Relay(0)
    ended = []

    def wait(number: int) -> None:
        with pytest.raises(AbandonedError):
            relay.wait(number)
        ended.append(number)

    threads = [threading.Thread(target=wait, args=[number]) for number in (1, 2, 5)]
    for thread in threads:
        thread.start()
    relay.abandon(0)
    for thread in threads:
        thread.join()
    assert sorted(ended) == [1, 2, 5]
    with pytest.raises(AbandonedError):
        relay.wait(6)


def test_a_batch_before_an_abandoned_one_still_gets_its_value() -> None:
    relay = Relay("first")
    got: list[str] = []
    waiting = threading.Thread(target=lambda: got.append(relay.wait(1)))
    waiting.start()
    relay.abandon(2)
    assert relay.wait(0) == "first"
    relay.put(0, "second")
    waiting.join(10)
    assert got == ["second"]
    with pytest.raises(AbandonedError):
        relay.wait(3)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_workers_in_processes(processes: int) -> None:
    """Of relays that are made before and after the fork, by workers that have either."""
    before = Relay(0)

    def source() -> Iterator[tuple[Relay[int], int]]:
        for number in range(40):
            yield before, number
        after = Relay(5)
        for number in range(40):
            yield after, number

    def add(batch: tuple[Relay[int], int]) -> int:
        relay, number = batch
        found = (before if relay is before else relay).wait(number)
        relay.put(number, found + number)
        return found

    found = results_of_run(source(), [add] * 6, processes)
    sums = [number * (number - 1) // 2 for number in range(40)]
    assert found == [*sums, *(5 + each for each in sums)]


def test_a_relay_that_a_worker_process_makes_is_its_own() -> None:
    def work(batch: int) -> int:
        relay = Relay(batch)
        found = relay.wait(0)
        relay.put(0, found + 1)
        relay.abandon(1)
        return relay.wait(1)

    assert results_of_run(range(10), [work] * 2, 2) == list(range(1, 11))


def test_failures_go_to_batches_in_other_processes() -> None:
    relay = Relay(0)

    def work(number: int) -> int:
        found = relay.wait(number)
        if number == 7:
            relay.abandon(number)
            raise ValueError(number)
        relay.put(number, found + 1)
        return found

    results: list[int] = []
    with pytest.raises(ValueError, match="7"):
        results_of_run(range(30), [work] * 4, 2, results=results)
    assert results == list(range(7))


class Batch:
    """A number, for which a relay waits until the batch is dropped."""

    def __init__(self, relay: Relay[int], number: int) -> None:
        self.relay = relay
        self.number = number


def batches(relay: Relay[int], count: int) -> Iterator[Batch]:
    for number in range(count):
        batch = Batch(relay, number)
        relay.abandon_with(batch, number)
        yield batch
        del batch


@pytest.mark.parametrize("processes", [1, 2])
def test_no_batch_waits_for_one_that_was_dropped(processes: int) -> None:
    """The second fails before it has a relay; the errors of the others hold nothing back."""

    def work(batch: Batch) -> int:
        if batch.number == 1:
            time.sleep(0.1)
            raise ValueError(batch.number)
        found = batch.relay.wait(batch.number)
        batch.relay.put(batch.number, found + 1)
        return found

    with pytest.raises(ValueError, match="1"):
        results_of_run(batches(Relay(0), 9), [work] * 4, processes)


def test_no_batch_waits_for_a_process_that_is_killed() -> None:
    """The error of the first ends the run, while the second computes and others wait for it."""

    def work(batch: Batch) -> int:
        found = batch.relay.wait(batch.number)
        if batch.number == 1:
            time.sleep(1000)
        batch.relay.put(batch.number, found + 1)
        if batch.number == 0:
            time.sleep(0.3)
            raise ValueError(batch.number)
        return found

    with pytest.raises(ValueError, match="0"):
        results_of_run(batches(Relay(0), 9), [work] * 4, 2)


def test_processes_drop_their_copies_without_effect() -> None:
    relay = Relay(0)
    dropped = [Batch(relay, 0)]
    relay.abandon_with(dropped[0], 0)

    def work(number: int) -> int:
        dropped.clear()
        found = relay.wait(number)
        relay.put(number, found + 1)
        return found

    assert results_of_run(range(20), [work] * 4, 2) == list(range(20))
