"""The man pages of `packaging/man`: up to date, and valid for the programs that show them."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path
from shutil import which
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "packaging" / "man" / "make_pages.py"
PAGES: Final = sorted((ROOT / "packaging" / "man" / "man1").iterdir())
CHECKS: Final = {
    "groff": ["groff", "-ww", "-man", "-Tutf8", "-z"],
    "mandoc": ["mandoc", "-Tlint", "-Wwarning"],
}


def test_pages_are_those_of_the_commands() -> None:
    expected = runpy.run_path(str(SCRIPT))["pages"]()
    written = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    assert written == expected, f"run: python {SCRIPT.relative_to(ROOT)}"


@pytest.mark.parametrize("program", CHECKS)
def test_pages_are_valid(program: str) -> None:
    if which(program) is None:
        pytest.skip(f"{program} is not installed")
    for page in PAGES:
        done = subprocess.run([*CHECKS[program], page], capture_output=True, text=True, check=False)
        assert not done.stdout + done.stderr, page.name
