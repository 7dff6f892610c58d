"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real test data; tests that need it are skipped where it is absent."""
    root = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("HAPGPU_TEST_DATA", root / ".." / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no test data in {folder}: set HAPGPU_TEST_DATA")
    return folder
