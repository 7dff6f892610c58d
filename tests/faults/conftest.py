"""Inputs of all commands, made once, and a copy of them per test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.inputs import make_inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of all inputs; nothing may be written there."""
    return make_inputs(tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("example"))


@pytest.fixture
def folder(inputs: Path, tmp_path: Path) -> Path:
    """Folder of copies of all inputs."""
    copies = tmp_path / "work"
    shutil.copytree(inputs, copies)
    return copies
