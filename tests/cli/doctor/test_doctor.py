"""`hapgpu doctor`, with and without (pretended) GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.cli import findings
from hapgpu.cli.commands import doctor as module
from hapgpu.cli.commands.doctor import doctor
from hapgpu.cli.findings import find
from hapgpu.errors import DeviceError, UsageError
from hapgpu.runtime import machine_code
from hapgpu.runtime.devices import DeviceReport, GpuReport
from hapgpu.runtime.machine_code import LEVELS, InstalledFunctions

NO_GPU = DeviceReport(None, "14.2.0", "12.9", [], "no NVIDIA driver was found")
GPU = GpuReport(0, "NVIDIA H200", (9, 0), 150 << 30, 75 << 30)
ONE_GPU = DeviceReport(13000, "14.2.0", "12.9", [GPU], gpu_count=1)


def pretend(
    monkeypatch: pytest.MonkeyPatch, report: DeviceReport, fault: str | None = None
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that no line is wrapped
    monkeypatch.setattr(module, "discover", lambda: report)
    monkeypatch.setattr("hapgpu.runtime.devices.discover", lambda _: report)
    monkeypatch.setattr(findings, "smoke_test", lambda _: fault)


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pretend(monkeypatch, NO_GPU)
    doctor()
    shown = capsys.readouterr().out
    assert "no NVIDIA driver was found" in shown
    assert "Numba" in shown
    assert "libdeflate inflates, ISA-L deflates" in shown
    with pytest.raises(DeviceError, match="no NVIDIA driver"):
        doctor(device="cuda")
    assert "Numba" in capsys.readouterr().out


def test_with_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pretend(monkeypatch, ONE_GPU)
    doctor(device="cuda:0")
    shown = capsys.readouterr().out
    assert "NVIDIA H200, compute capability 9.0, 75.0 of 150.0 GiB free" in shown
    assert "for CUDA 13.0" in shown
    assert "compiled and run" in shown
    with pytest.raises(DeviceError, match="cuda:1"):
        doctor(device="cuda:1")
    with pytest.raises(UsageError, match="tpu"):
        doctor(device="tpu")


def test_gpu_that_runs_no_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, ONE_GPU, fault="no kernel image [sm_90]")
    doctor()
    assert "no kernel image [sm_90]" in capsys.readouterr().out
    with pytest.raises(DeviceError, match="no kernel image"):
        doctor(device="cuda:0")


def test_cache_of_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", refuse)
    for name in ("HAPGPU_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    cache = next(finding for finding in find(NO_GPU, {}) if finding.item == "Cache")
    assert not cache.good
    assert "no home directory" in cache.state
    assert "set HAPGPU_CACHE_DIR" in cache.state


def test_cache_of_numba(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache = next(finding for finding in find(NO_GPU, {}) if finding.item == "Cache of Numba")
    assert cache.good
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/none")
    cache = next(finding for finding in find(NO_GPU, {}) if finding.item == "Cache of Numba")
    assert "set NUMBA_CACHE_DIR" in cache.state


def test_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("HAPGPU_CACHE_DIR", str(blocked / "cache"))
    cache = next(finding for finding in find(NO_GPU, {}) if finding.item == "Cache")
    assert not cache.good
    assert "HAPGPU_CACHE_DIR" in cache.state


def test_where_compiled_code_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def states() -> list[str]:
        return [each.state for each in find(NO_GPU, {}) if each.item.startswith("Compiled ")]

    assert states() == ["in the cache, from first runs", "in the cache, from first runs on a GPU"]
    for name in ("x86-64-v3", "sm_100", "sm_90"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(machine_code, "DIRECTORY", tmp_path)
    monkeypatch.setattr(findings, "INSTALLED", InstalledFunctions(tmp_path, LEVELS[-1]))
    assert states() == ["in the package, for x86-64-v3", "in the package, for sm_90, sm_100"]
