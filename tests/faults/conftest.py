"""Inputs of all commands, made once, and copies of them for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.commands import COMMANDS, Command
from tests.faults.good_outputs import GoodOutputs
from tests.faults.made.copies import Copies
from tests.faults.made.inputs import make_inputs
from tests.faults.made.odd_files import make_odd_files
from tests.faults.processes.child import Children


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the rows of `report` as exhaustive: pages need optional libraries, and take longer."""
    for item in items:
        command = item.callspec.params.get("command") if hasattr(item, "callspec") else None
        if isinstance(command, Command) and command.subcommand == "report":
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of all inputs; nothing may be written there."""
    return make_inputs(tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="session")
def odd_files(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of all inputs and of faulty files; nothing may be written there."""
    directory = tmp_path_factory.mktemp("odd") / "files"
    shutil.copytree(inputs, directory)
    make_odd_files(directory)
    return directory


@pytest.fixture(scope="session")
def copies(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    return Copies(inputs, tmp_path_factory.mktemp("copies") / "work")


@pytest.fixture
def directory(copies: Copies) -> Iterator[Path]:
    """Directory of copies of all inputs, restored after the test."""
    yield copies.directory
    copies.restore()


@pytest.fixture(scope="session")
def good_outputs(copies: Copies) -> GoodOutputs:
    return GoodOutputs(copies.directory)


@pytest.fixture(scope="session")
def children(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Yield the runner of commands in processes of their own."""
    # The index is built by several threads, which do not outlive a fork.
    warm_up = [
        command.with_output(tmp_path_factory.mktemp("warm") / command.output)
        for command in COMMANDS
        if command.subcommand != "index"
    ]
    with Children(warm_up, inputs) as started:
        yield started
