"""Choice of devices, on machines of all kinds."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import DeviceError, UsageError
from hapgpu.runtime import devices
from hapgpu.runtime.devices import (
    CpuDevice,
    CudaDevice,
    DeviceReport,
    GpuReport,
    discover,
    parse_memory,
    resolve_devices,
    side_by_side,
    usable_cpus,
)


def machine(gpus: int, problem: str | None, indices: Sequence[int] | None) -> DeviceReport:
    named = [index for index in range(gpus) if indices is None or index in indices]
    return DeviceReport(
        driver_version=12090,
        cupy_version="14.2.0",
        nvrtc_version="12.9",
        gpus=[GpuReport(index, f"GPU {index}", (9, 0), 1 << 37, 1 << 36) for index in named],
        gpu_count=gpus,
        problem=problem,
    )


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make this a machine with some GPUs."""

    def set_machine(gpus: int, problem: str | None = None) -> None:
        monkeypatch.setattr(devices, "discover", lambda named: machine(gpus, problem, named))

    return set_machine


def test_auto_without_gpu_is_the_cpu_and_says_why(pretend: Any) -> None:
    pretend(0, "no NVIDIA driver was found")
    devices, line = resolve_devices("auto", threads=3)
    assert devices == [CpuDevice(threads=3)]
    assert line == "device: CPU, 3 threads (no NVIDIA driver was found)"


def test_auto_where_no_gpu_is_visible(pretend: Any) -> None:
    pretend(0)
    devices, line = resolve_devices("auto", threads=1)
    assert devices == [CpuDevice(threads=1)]
    assert line == "device: CPU, 1 thread (no GPU is visible)"


def test_auto_where_gpus_cannot_be_used(pretend: Any) -> None:
    pretend(2, "NVRTC cannot be loaded")
    devices, line = resolve_devices("auto")
    assert devices == [CpuDevice(usable_cpus())]
    assert "NVRTC cannot be loaded" in line


@pytest.mark.parametrize("text", ["auto", "cuda"])
def test_all_gpus(text: str, pretend: Any) -> None:
    pretend(3)
    devices, line = resolve_devices(text, gpu_memory=1000)
    assert devices == [CudaDevice(k, f"GPU {k}", memory_limit=1000) for k in range(3)]
    assert line == "device: cuda:0 (GPU 0), cuda:1 (GPU 1), cuda:2 (GPU 2)"


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("cuda:0", [0]),
        ("cuda:2", [2]),
        ("cuda:0,2", [0, 2]),
        ("cuda:2,0", [0, 2]),
        ("cuda:1,1", [1]),
    ],
)
def test_named_gpus(text: str, indices: list[int], pretend: Any) -> None:
    pretend(3)
    devices, _ = resolve_devices(text)
    assert devices == [CudaDevice(k, f"GPU {k}") for k in indices]


@pytest.mark.parametrize("text", ["cuda", "cuda:0", "cuda:0,1"])
@pytest.mark.parametrize(("gpus", "problem"), [(0, "no NVIDIA driver was found"), (2, "no NVRTC")])
def test_named_gpus_are_never_replaced(text: str, gpus: int, problem: str, pretend: Any) -> None:
    pretend(gpus, problem)
    with pytest.raises(DeviceError, match=f"device '{text}': {problem}; for details") as caught:
        resolve_devices(text)
    assert caught.value.exit_code == 3


def test_a_missing_gpu(pretend: Any) -> None:
    pretend(2)
    with pytest.raises(DeviceError, match=r"cuda:5': no such GPU; give cuda:0 to cuda:1"):
        resolve_devices("cuda:1,5")


def test_the_cpu_is_used_without_a_search_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "discover", lambda _: pytest.fail("looked"))
    assert resolve_devices("cpu", threads=2) == ([CpuDevice(2)], "device: CPU, 2 threads")
    assert resolve_devices("cpu")[0] == [CpuDevice(usable_cpus())]


@pytest.mark.parametrize(
    "text",
    ["", "gpu", "CPU", "cuda:", "cuda:x", "cuda:0,", "cuda:-1", "cpu:0", "cuda:0 ,1", "cuda0"],
)
def test_unknown_devices_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give auto, cpu, cuda, cuda:0 or cuda:0,2") as caught:
        resolve_devices(text)
    assert caught.value.exit_code == 2


def test_discovery_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_cupy(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "cupy":
            message = "No module named 'cupy'"
            raise ModuleNotFoundError(message)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_cupy)
    report = discover()
    assert report.gpus == []
    assert report.problem is not None
    assert "pip install" in report.problem


def test_discovery_names_the_missing_part() -> None:
    report = discover()
    assert report.gpus or report.problem
    assert not report.gpus or report.driver_version


def test_memory_limit_is_the_budget() -> None:
    assert CudaDevice(0, memory_limit=12345).memory_budget() == 12345


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("500M", 500 << 20),
        ("8G", 8 << 30),
        ("8g", 8 << 30),
        ("8GB", 8 << 30),
        ("8GiB", 8 << 30),
        (" 1.5K ", 1536),
        ("2T", 2 << 40),
    ],
)
def test_memory(text: str, size: int) -> None:
    assert parse_memory(text) == size


@given(st.integers(1, 2**50))
def test_memory_in_bytes(size: int) -> None:
    assert parse_memory(str(size)) == size


@pytest.mark.parametrize(
    "text", ["", "G", "0", "0G", "-8G", "8X", "8GG", "8KG", "8 apples", "nan", "inf", "1e999"]
)
def test_no_amount_of_memory(text: str) -> None:
    with pytest.raises(UsageError, match="not an amount of memory; write it as 8G"):
        parse_memory(text)


def test_work_for_each_gpu_runs_side_by_side() -> None:
    together = threading.Barrier(3, timeout=60)

    def make(number: int) -> int:
        together.wait()
        return 10 * number

    assert side_by_side(make, [2, 0, 1]) == [20, 0, 10]
    assert side_by_side(make, []) == []


def test_one_gpu_is_used_in_the_calling_thread() -> None:
    assert side_by_side(lambda _: threading.current_thread(), [0]) == [threading.current_thread()]
