"""The first run of a command: what is compiled before it, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hapgpu.runtime.compiled import first_run
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.compiled.signatures import Version
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.gpu.kernel import Kernel

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

    def note(versions: Sequence[Version], _processes: int) -> None:
        names.extend(version.name for version in versions)

    @contextmanager
    def note_kernels(
        kernels: list[Kernel], architectures: set[str], _threads: int
    ) -> Iterator[None]:
        names.extend(f"{k.source} {a}" for k in kernels for a in architectures)
        yield

    monkeypatch.setattr(CudaDevice, "architecture", "sm_90")
    monkeypatch.setattr(first_run, "read_kernels", lambda: KERNELS)
    monkeypatch.setattr(first_run, "compiling", note_kernels)
    monkeypatch.setattr(first_run, "read_groups", lambda: GROUPS)
    monkeypatch.setattr(first_run, "compile_ahead", note)
    monkeypatch.setattr(first_run, "usable_cpus", lambda: 2)
    return names


def test_each_group_is_compiled_once(tmp_path: Path, compiled: list[str]) -> None:
    for expected in (True, False):
        first = FirstRun(tmp_path / "cache", "map", [CPU], ["map", "a.fa"])
        assert bool(first) == expected
        first.compile()
    assert compiled == ["f"]
    FirstRun(tmp_path / "cache", "map", [GPU, GPU], ["map"]).compile()
    assert compiled == ["f", "common/smoke.cu sm_90", "h"]


def test_options_with_functions_of_their_own(tmp_path: Path, compiled: list[str]) -> None:
    FirstRun(tmp_path, "map", [CPU], ["map", "--fast=1"]).compile()
    assert compiled == ["f", "g"]


def test_a_command_without_functions(tmp_path: Path, compiled: list[str]) -> None:
    first = FirstRun(tmp_path, "doctor", [CPU], [])
    assert not first
    first.compile()
    assert not compiled


def test_nothing_is_compiled_for_a_cache_that_cannot_be_written(
    tmp_path: Path, compiled: list[str]
) -> None:
    (tmp_path / "file").touch()
    FirstRun(tmp_path / "file" / "cache", "map", [CPU], []).compile()
    FirstRun(None, "map", [CPU], []).compile()
    assert not compiled


def test_a_run_that_ended_early_is_not_the_first(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_versions: Sequence[Version], _processes: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(first_run, "compile_ahead", fail)
        with pytest.raises(KeyboardInterrupt):
            FirstRun(tmp_path, "map", [CPU], []).compile()
    FirstRun(tmp_path, "map", [CPU], []).compile()
    assert compiled == ["f"]
