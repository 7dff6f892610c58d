"""Fixtures shared by all tests."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from hapgpu.cli.compilation import compile_all
from hapgpu.runtime.compiled.first_run import mark_compiled
from hapgpu.runtime.devices import discover
from hapgpu.runtime.jit import COMPILED
from tests.example_counts import COUNTS, FEWER
from tests.gpu_memory import turn_on_gpus

# One profile for all property tests; without --exhaustive, with fewer examples. The time of an
# example depends on compilation and on the load of the machine: so no deadlines, and no check of
# how quickly examples are made, nor of how large they are. Directories and corpora that a test does
# not change may be shared by its examples. A test must not suppress a check of its own: that would
# enable the others again.
# Examples differ from run to run, on CI too: a suite of fixed examples finds nothing new, and the
# blob printed with a failure reproduces its example.
settings.register_profile(
    "hapgpu",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.register_profile("fewer", settings.get_profile("hapgpu"), max_examples=FEWER)
settings.load_profile("hapgpu")

_MOST = 5000
"""Tests of a run before which all functions are compiled side by side; fewer need only some."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive", action="store_true", help="run the tests marked 'exhaustive' too"
    )
    parser.addoption(
        "--part",
        type=part,
        metavar="K/N",
        help="run the K-th of N parts of the exhaustive tests too",
    )


def part(text: str) -> tuple[int, int]:
    """Return the number of a part, from 1, and the number of parts."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 0 < int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text}: give K/N, as 1/4")
    return int(number), int(count)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of examples of property tests, before their modules are imported."""
    COUNTS.are_all = config.getoption("exhaustive")
    if not COUNTS.are_all:
        settings.load_profile("fewer")


@pytest.hookimpl(trylast=True)  # after -k and -m have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip exhaustive tests unless requested, and GPU tests without a GPU; compile functions."""
    if len(items) > _MOST and not config.option.collectonly and _is_first_process(config):
        compile_all(())
    mark_compiled(COMPILED, {"cpu", "cuda"})  # else the first runs would say that they compile
    number, count = config.getoption("part") or (0, 1)
    if not config.getoption("exhaustive"):
        for item in items:
            is_in_part = crc32(item.nodeid.encode()) % count == number - 1
            if item.get_closest_marker("exhaustive") and not is_in_part:
                item.add_marker(pytest.mark.skip(reason="exhaustive: --exhaustive runs it"))
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    report = discover()
    if not report.gpus:
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {report.problem}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Run tests that take the memory of a GPU beside no other GPU test, of any process."""
    marker = item.get_closest_marker("gpu")
    if marker is None:
        return (yield)
    with turn_on_gpus(alone=marker.kwargs.get("alone", False)):
        return (yield)


def _is_first_process(config: pytest.Config) -> bool:
    """Tell whether this process compiles for all: workers wait for each other's collections."""
    worker = getattr(config, "workerinput", {"workerid": "gw0"})
    return worker["workerid"] == "gw0"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Directory of real test data; tests that need it are skipped if it is absent."""
    root = Path(__file__).resolve().parent.parent
    directory = Path(os.environ.get("HAPGPU_TEST_DATA", root / ".." / "shared" / "data")).resolve()
    if not directory.is_dir():
        pytest.skip(f"no test data in {directory}: set HAPGPU_TEST_DATA")
    return directory
