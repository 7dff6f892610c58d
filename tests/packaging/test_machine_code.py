"""Machine code of a wheel: written once, loaded only where everything fits."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from hapgpu.runtime import machine_code
from hapgpu.runtime.compiled.signatures import all_versions
from hapgpu.runtime.gpu import launch
from hapgpu.runtime.gpu.launch import SMOKE, cached_cubin
from hapgpu.runtime.machine_code import LEVELS, find_functions

ROOT: Final = Path(__file__).parents[2]
V3: Final = LEVELS[-1]
FEATURES: Final = {name for level in LEVELS for name in level.features}

LOAD: Final = """
import numpy as np
from hapgpu.arrays.ragged import _copy_rows
from hapgpu.runtime.jit import COMPILED, INSTALLED
values, starts, out = np.arange(6, dtype=np.uint16), np.array([0, 2, 6]), np.zeros(6, np.uint16)
values.flags.writeable = False
_copy_rows(values, starts[:-1], out, starts)
stored = len([*COMPILED.glob("*.compiled")]) if COMPILED.is_dir() else 0
print(INSTALLED and INSTALLED.level.name, sum(_copy_rows.stats.cache_hits.values()), stored, *out)
"""


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "packaging" / "machine_code.py"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, script: dict[str, Any]) -> Path:
    """Return machine code of one function, for one level of CPUs."""
    directory = tmp_path_factory.mktemp("code")
    versions = [v for v in all_versions() if (v.module, v.name) == FUNCTION]
    script["write_functions"](directory, V3, versions)
    return directory


@pytest.fixture
def site(written: Path, tmp_path: Path) -> Path:
    """Return a directory with the package as a wheel would install it."""
    if not V3.features <= host_features():
        pytest.skip("this CPU cannot run the code")
    shutil.copytree(ROOT / "hapgpu", tmp_path / "hapgpu", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(written, tmp_path / "hapgpu" / "machine_code")
    return tmp_path


FUNCTION: Final = ("hapgpu.arrays.ragged", "_copy_rows")


def host_features() -> set[str]:
    features = machine_code.llvm.get_host_cpu_features()
    return {name for name, is_there in features.items() if is_there}


def run(site: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    own = {"PYTHONPATH": str(site), "HAPGPU_CACHE_DIR": str(site / "cache")}
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        cwd=site,  # `-c` looks for packages there first
        env={**inherited, **own, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_installed_functions_are_loaded_and_not_stored(site: Path) -> None:
    done = run(site)
    assert done.stdout.split()[:3] == ["x86-64-v3", "1", "0"]
    assert done.stdout.split()[3:] == list("012345")
    assert not done.stderr
    (site / "cache").mkdir()
    (site / "cache").chmod(0o500)
    assert run(site).stdout == done.stdout


def test_a_damaged_function_is_compiled(site: Path) -> None:
    for file in (site / "hapgpu" / "machine_code").rglob("*.compiled"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    done = run(site)
    assert done.stdout.split() == ["x86-64-v3", "0", "1", *"012345"]
    assert done.stderr.endswith("damaged, compiled again; if this recurs, reinstall hapgpu\n")


def test_functions_of_other_sources_are_not_used(site: Path) -> None:
    with (site / "hapgpu" / "arrays" / "ragged.py").open("a") as module:
        module.write("# changed\n")
    assert run(site).stdout.split() == ["None", "0", "1", *"012345"]


@pytest.mark.parametrize("setting", ["NUMBA_CPU_NAME=generic", "NUMBA_BOUNDSCHECK=1"])
def test_functions_are_not_used_where_the_user_wants_others(site: Path, setting: str) -> None:
    name, _, value = setting.partition("=")
    assert run(site, **{name: value}).stdout.split()[:2] == ["None", "0"]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [(set(), "x86-64-v4"), ({"avx512dq"}, "x86-64-v3"), ({"avx512f", "fma"}, None)],
)
def test_the_level_is_the_best_that_the_cpu_can_run(
    missing: set[str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for level in LEVELS:
        (tmp_path / level.name / "0123").mkdir(parents=True)
    features = {name: name not in missing for name in FEATURES}
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_features", lambda: features)
    found = find_functions("0123", tmp_path)
    assert (found and found.level.name) == expected
    assert find_functions("other", tmp_path) is None
    assert find_functions("0123", tmp_path / "missing") is None


def test_levels_have_the_features_that_the_psabi_names() -> None:
    """LLVM knows the levels as CPUs; the host's features are names of LLVM's, too."""
    known = machine_code.llvm.get_host_cpu_features()
    assert known.keys() >= FEATURES


def test_installed_kernels_need_no_compiler(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cupy")
    script["write_kernels"](tmp_path, [SMOKE], ["sm_80", "sm_90"])
    expected = cached_cubin(SMOKE, "sm_90")
    monkeypatch.setattr(launch, "kernel_directory", tmp_path.joinpath)

    def fail() -> None:
        raise AssertionError

    monkeypatch.setattr(launch, "imported_cupy", fail)
    assert cached_cubin(SMOKE, "sm_90") == expected
    assert cached_cubin(SMOKE, "sm_80") != expected
    with pytest.raises(AssertionError):
        cached_cubin(SMOKE, "sm_86")


def test_nothing_is_mixed_with_what_a_directory_holds(
    script: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "sm_90").touch()
    with pytest.raises(SystemExit, match="is not empty; give another directory"):
        script["main"](tmp_path)
