"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hapgpu.device import discover


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need a GPU where there is none."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    report = discover()
    if not report.gpus:
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {report.problem}"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real test data; tests that need it are skipped where it is absent."""
    root = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("HAPGPU_TEST_DATA", root / ".." / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no test data in {folder}: set HAPGPU_TEST_DATA")
    return folder
