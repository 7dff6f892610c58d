"""The capacity table of docs/cluster.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_the_computed_table() -> None:
    script = ROOT / "examples" / "snakemake" / "capacity.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 9
    assert f"\n{done.stdout}\n" in (ROOT / "docs" / "cluster.md").read_text()
