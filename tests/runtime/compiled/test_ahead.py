"""Compilation in processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

CODE = """
from hapgpu.runtime.compiled.side_by_side import compile_ahead
from hapgpu.runtime.compiled.signatures import all_versions
versions = [v for v in all_versions() if v.module == "hapgpu.arrays.ragged"]
assert versions
compile_ahead(versions, 2, lambda: print("done"))
"""


def test_functions_are_stored_by_processes(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ended = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**environment, "PYTHONPATH": str(ROOT), "HAPGPU_CACHE_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    files = [*tmp_path.glob("numba/*/*.compiled")]
    assert len(files) == ended.stdout.count("done") > 1
