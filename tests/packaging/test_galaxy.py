"""The Galaxy tools: linted by planemo, and their tests run by Galaxy's libraries without Galaxy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hapgpu.version import __version__
from tests.test_example import make

TESTS = {"hapgpu_call.xml": 3, "hapgpu_genotype.xml": 2}
"""The number of tests that each tool has."""
PLANEMO = shutil.which("planemo")

needs_planemo = pytest.mark.skipif(PLANEMO is None, reason="planemo is not installed")


@pytest.fixture(scope="module")
def galaxy(packages: Path) -> Path:
    return packages / "galaxy"


def test_version_of_the_package(galaxy: Path) -> None:
    macros = (galaxy / "macros.xml").read_text()
    assert f'<token name="@TOOL_VERSION@">{__version__}</token>' in macros


def test_every_tool_is_tested(galaxy: Path) -> None:
    assert {path.name for path in galaxy.glob("hapgpu_*.xml")} == set(TESTS)


@needs_planemo
@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", TESTS)
def test_lint(tool: str, galaxy: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["planemo", "lint", "--fail_level", "warn", str(galaxy / tool)],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_planemo
@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", TESTS)
def test_tests_of_the_tool(tool: str, galaxy: Path, tmp_path: Path) -> None:
    assert PLANEMO is not None
    python = Path(PLANEMO).resolve().parent / "python"
    script = Path(__file__).with_name("galaxy_job.py")
    data = make(tmp_path / "test data")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(python), str(script), str(galaxy / tool), str(data), str(tmp_path / "work")],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TESTS[tool]} tests passed" in done.stdout
