"""`hapgpu doctor --compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hapgpu.cli import compilation
from hapgpu.cli.commands import doctor as module
from hapgpu.cli.commands.doctor import doctor
from hapgpu.errors import DeviceError, OutputError, UsageError
from hapgpu.runtime.compiled import side_by_side
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.compiled.signatures import Version, all_versions
from hapgpu.runtime.devices import CpuDevice, CudaDevice, DeviceReport
from hapgpu.runtime.gpu.kernel import Kernel
from tests.cli.in_process import error_of_command, status_of_command

NO_GPU = DeviceReport(None, "14.2.0", "12.9", [], "no NVIDIA driver was found")
KERNELS = [Kernel("a.cu", "a", ()), Kernel("b.cu", "b<1>", ())]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the kernels that are compiled; functions are not."""
    names: list[str] = []

    def note(kernel: Kernel, architecture: str) -> None:
        if architecture == "sm_01":
            raise DeviceError("unknown architecture")
        names.append(f"{kernel.expression} {architecture}")

    def note_all(versions: Sequence[Version], _: int, note_one: Callable[[], object]) -> None:
        for _version in versions:
            note_one()

    monkeypatch.setattr(module, "discover", lambda: NO_GPU)
    monkeypatch.setattr("hapgpu.runtime.devices.discover", lambda _: NO_GPU)
    monkeypatch.setattr(compilation, "COMPILED", tmp_path)
    monkeypatch.setattr(compilation, "_all_kernels", lambda: KERNELS)
    monkeypatch.setattr(side_by_side, "compile_ahead", note_all)
    monkeypatch.setattr(side_by_side, "cached_cubin", note)
    return names


def is_first(directory: Path, device: CpuDevice | CudaDevice) -> bool:
    return bool(FirstRun(directory, "map", [device], []))


def test_functions(compiled: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor(compile_=True)
    assert not compiled
    assert f"{len(all_versions())} functions compiled; no kernels" in capsys.readouterr().err
    assert not is_first(tmp_path, CpuDevice())
    assert is_first(tmp_path, CudaDevice(0))


def test_functions_and_kernels(
    compiled: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doctor(compile_=True, arch="sm_80,sm_90")
    assert sorted(compiled) == ["a sm_80", "a sm_90", "b<1> sm_80", "b<1> sm_90"]
    assert "2 kernels for sm_80, sm_90" in capsys.readouterr().err
    assert not is_first(tmp_path, CudaDevice(0))


def test_architectures_without_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of_command("doctor", "--arch", "sm_80") == 2
    error = error_of_command("doctor", capsys)
    assert error == "hapgpu doctor: error: --arch: no effect without --compile; add it"


@pytest.mark.usefixtures("compiled")
def test_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'90': not an architecture"):
        doctor(compile_=True, arch="sm_80,90")
    with pytest.raises(DeviceError, match="unknown architecture"):
        doctor(compile_=True, arch="sm_01")
    (tmp_path / "file").touch()
    monkeypatch.setattr(compilation, "COMPILED", tmp_path / "file" / "cache")
    with pytest.raises(OutputError, match="set HAPGPU_CACHE_DIR to another directory"):
        doctor(compile_=True)
