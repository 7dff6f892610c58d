"""What workers count and log in their processes arrives in the run, each number once."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from hapgpu.genotyping.reads.filters import FilterOptions, ReadFilter
from hapgpu.runtime.processes.tallies import LogBuffer, OncePerRun
from hapgpu.runtime.statistics import RunStatistics
from tests.runtime.processes.running import COUNTS, results_of_run

LOGGER = logging.getLogger("hapgpu.tests")


@pytest.mark.parametrize("processes", COUNTS)
def test_counts(processes: int) -> None:
    statistics = RunStatistics("test", [], [], 5)
    read_filter = ReadFilter(FilterOptions())
    statistics.count("rows", 1000)  # before the fork
    read_filter.add({"reads": 7})

    def work(value: int) -> int:
        statistics.count("rows", value)
        read_filter.add({"reads": 1, "excluded_by_flags": value})
        return value

    timed = statistics.timed("stage", work)
    written = results_of_run(range(40), [timed] * 5, processes, tallies=[statistics, read_filter])
    assert statistics.counts == {"rows": 1000 + sum(written)}
    assert (read_filter.counts["reads"], read_filter.counts["excluded_by_flags"]) == (47, 780)
    times = statistics.as_dict()
    assert times["seconds"].keys() == {"stage", "total"}  # type: ignore[attr-defined]
    assert 1 <= times["stage_threads"]["stage"] <= 5  # type: ignore[index]


def test_a_failed_batch_is_counted_too() -> None:
    statistics = RunStatistics("test", [], [], 5)

    def work(value: int) -> int:
        statistics.count("batches", 1)
        if value == 5:
            raise ValueError
        return value

    with pytest.raises(ValueError):  # noqa: PT011  (no message)
        results_of_run(range(6), [work] * 2, 2, tallies=[statistics])
    assert statistics.counts == {"batches": 6}


@pytest.mark.parametrize("processes", COUNTS)
def test_a_warning_of_all_processes_appears_once(
    processes: int, caplog: pytest.LogCaptureFixture
) -> None:
    """As in threads, where the first that finds the fault warns of it."""
    warned = threading.Event()

    def work(value: int) -> int:
        if not warned.is_set():
            warned.set()
            LOGGER.warning("%s: damaged", "file")
        if value == 7:
            LOGGER.error("batch %d", value)
        return value

    results_of_run(range(30), [work] * 5, processes)
    found = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert found.count(("hapgpu.tests", "WARNING", "file: damaged")) == 1
    assert found.count(("hapgpu.tests", "ERROR", "batch 7")) == 1
    assert len(found) == 2


def test_a_warning_of_a_failed_batch_appears(caplog: pytest.LogCaptureFixture) -> None:
    def work(_: int) -> object:
        LOGGER.warning("before the error")
        return lambda: None  # not picklable

    with pytest.raises(Exception, match=r"pickle|local"):
        results_of_run(range(4), [work] * 2, 2)
    assert caplog.messages == ["before the error"]


def test_a_buffer_of_messages() -> None:
    buffer = LogBuffer()
    record = logging.LogRecord("hapgpu.x", logging.INFO, "", 0, "%d of %s", (3, "a"), None)
    buffer.handle(record)
    assert buffer.drain() == [("hapgpu.x", logging.INFO, "3 of a")]
    assert buffer.drain() == []


def test_messages_of_threads_that_log_at_once(caplog: pytest.LogCaptureFixture) -> None:
    once = OncePerRun()
    messages = [("hapgpu.tests", logging.WARNING, str(number)) for number in range(200)] * 2
    threads = [threading.Thread(target=once.log, args=(messages,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(caplog.messages, key=int) == [str(number) for number in range(200)]


def test_handlers_of_the_run_stay(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("hapgpu")
    before = list(logger.handlers), logger.propagate
    assert os.getpid() not in results_of_run(range(9), [lambda _: os.getpid()] * 3, 3)
    assert (list(logger.handlers), logger.propagate) == before
    assert not caplog.records
