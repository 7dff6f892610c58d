"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hapgpu.runtime.devices import discover, usable_cpus

# One profile for all property tests. The time of an example depends on compilation and on the load
# of the machine: so no deadlines, and no check of how quickly examples are made, nor of how large
# they are. Directories and corpora that a test does not change may be shared by its examples. A
# test must not suppress a check of its own: that would bring the others back.
# Examples differ from run to run, on CI too: a suite that tries the same ones for ever finds
# nothing new, and the blob that is printed with a failure brings its example back.
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
settings.load_profile("hapgpu")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive", action="store_true", help="run the tests marked 'exhaustive' too"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in two processes if pytest-xdist is installed and `-n` not given."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    option = config.option
    if is_whole and getattr(option, "numprocesses", 0) is None and not option.usepdb:
        option.numprocesses = min(2, usable_cpus())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip exhaustive tests unless they are asked for, and tests that need a GPU without one."""
    if not config.getoption("exhaustive"):
        for item in items:
            if item.get_closest_marker("exhaustive"):
                item.add_marker(pytest.mark.skip(reason="exhaustive: --exhaustive runs it"))
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    report = discover()
    if not report.gpus:
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {report.problem}"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Directory of real test data; tests that need it are skipped where it is absent."""
    root = Path(__file__).resolve().parent.parent
    directory = Path(os.environ.get("HAPGPU_TEST_DATA", root / ".." / "shared" / "data")).resolve()
    if not directory.is_dir():
        pytest.skip(f"no test data in {directory}: set HAPGPU_TEST_DATA")
    return directory
