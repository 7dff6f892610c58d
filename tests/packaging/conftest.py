"""The files for workflow systems, rendered once for all tests of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RENDER = Path(__file__).resolve().parents[2] / "packaging" / "render.py"


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of nf-core's modules, Snakemake's wrappers and Galaxy's tools."""
    pytest.importorskip("jinja2")
    pytest.importorskip("yaml")
    directory = tmp_path_factory.mktemp("packages")
    subprocess.run([sys.executable, str(RENDER), str(directory)], check=True)
    return directory
