"""Pages of the documentation, run once per process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.runner import run_page


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that runs the blocks of a page and returns their directory."""
    base = tmp_path_factory.mktemp("pages")
    script = ROOT / "examples" / "make_example.py"
    subprocess.run([sys.executable, str(script), "example"], cwd=base, check=True)
    results: dict[str, str] = {}

    def run(page: str) -> Path:
        directory = base / page.replace("/", "_").removesuffix(".md")
        if page not in results:
            results[page] = "failed before"
            shutil.copytree(base / "example", directory / "example")
            results[page] = run_page(page, directory)
        if results[page]:
            pytest.skip(results[page])
        return directory

    return run
