"""The first run of a command: what is compiled before it, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hapgpu.runtime.compiled import first_run, side_by_side
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.compiled.signatures import Version
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.progress import NoProgress

CPU, GPU = CpuDevice(2), CudaDevice(0)
KERNELS = {"map cuda": [("common/smoke.cu", "double_all")]}
GROUPS = {
    "map cpu": [Version("a", "f", "[]")],
    "map cpu --fast": [Version("a", "f", "[]"), Version("a", "g", "[]")],
    "map cuda": [Version("a", "h", "[]")],
}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the functions that are compiled."""
    names: list[str] = []

    def note(versions: Sequence[Version], *_: object) -> None:
        names.extend(version.name for version in versions)

    @contextmanager
    def note_kernels(kernels: list[Kernel], architectures: set[str], *_: object) -> Iterator[None]:
        names.extend(f"{k.source} {a}" for k in kernels for a in architectures)
        yield

    monkeypatch.setattr(CudaDevice, "architecture", "sm_90")
    monkeypatch.setattr(first_run, "read_kernels", lambda: KERNELS)
    monkeypatch.setattr(side_by_side, "compiling", note_kernels)
    monkeypatch.setattr(first_run, "read_groups", lambda: GROUPS)
    monkeypatch.setattr(side_by_side, "compile_ahead", note)
    monkeypatch.setattr(first_run, "usable_cpus", lambda: 2)
    return names


def test_each_group_is_compiled_once(tmp_path: Path, compiled: list[str]) -> None:
    for expected in (True, False):
        first = FirstRun(tmp_path / "cache", "map", [CPU], ["map", "a.fa"])
        assert bool(first) == expected
        assert len(first) == expected
        first.compile(NoProgress())
    assert compiled == ["f"]
    FirstRun(tmp_path / "cache", "map", [GPU, GPU], ["map"]).compile(NoProgress())
    assert compiled == ["f", "common/smoke.cu sm_90", "h"]


def test_options_with_functions_of_their_own(tmp_path: Path, compiled: list[str]) -> None:
    FirstRun(tmp_path, "map", [CPU], ["map", "--fast=1"]).compile(NoProgress())
    assert compiled == ["f", "g"]


def test_a_command_without_functions(tmp_path: Path, compiled: list[str]) -> None:
    first = FirstRun(tmp_path, "doctor", [CPU], [])
    assert not first
    first.compile(NoProgress())
    assert not compiled


def test_nothing_is_compiled_for_a_cache_that_cannot_be_written(
    tmp_path: Path, compiled: list[str]
) -> None:
    (tmp_path / "file").touch()
    FirstRun(tmp_path / "file" / "cache", "map", [CPU], []).compile(NoProgress())
    FirstRun(None, "map", [CPU], []).compile(NoProgress())
    assert not compiled


def test_a_run_that_ended_early_is_not_the_first(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(side_by_side, "compile_ahead", fail)
        with pytest.raises(KeyboardInterrupt):
            FirstRun(tmp_path, "map", [CPU], []).compile(NoProgress())
    FirstRun(tmp_path, "map", [CPU], []).compile(NoProgress())
    assert compiled == ["f"]


def test_what_the_package_holds_is_not_compiled(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not FirstRun(tmp_path, "map", [CPU], ["map"], has_functions=True)
    first = FirstRun(tmp_path, "map", [GPU], ["map"], has_functions=True)
    assert len(first) == 1
    first.compile(NoProgress())
    assert compiled == ["common/smoke.cu sm_90"]
    (tmp_path / "sm_90").mkdir()
    monkeypatch.setattr(first_run, "kernel_directory", tmp_path.joinpath)
    assert not FirstRun(tmp_path / "new", "map", [GPU], ["map"], has_functions=True)
    FirstRun(tmp_path / "new", "map", [GPU], ["map"]).compile(NoProgress())
    assert compiled[1:] == ["h"]
