"""Values go from batch to batch, whichever threads compute them, and failures go with them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hapgpu.runtime.relay import AbandonedError, Relay


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
