"""`hapgpu realign` of FASTQ uses the GPUs that are named; the CPU stands for them here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hapgpu.realign import cpu
from hapgpu.runtime import pipeline
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, GpuReport
from tests.cli.realign.command import make_example, realign
from tests.faults.processes.worker_processes import always

pytest.importorskip("cupy")

GPUS = [
    CudaDevice(number, "made", 1 << 30, GpuReport(number, "made", (9, 0), 1 << 31, 1 << 31))
    for number in (0, 1)
]


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    directory = make_example(tmp_path / "example")
    return [directory / "amplicons.fastq.gz", directory / "alleles.fa"]


@pytest.fixture
def expected(inputs: list[Path], tmp_path: Path) -> bytes:
    realign(*inputs, "--no-PG", "-o", tmp_path / "cpu.bam", device="cpu")
    return (tmp_path / "cpu.bam").read_bytes()


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """Two GPUs are found from now on; return the devices that workers are opened on."""
    opened: list[Device] = []

    def open_realigner(
        task: Any, device: Device, on_cpu: Callable[..., Any] = cpu.open_realigner
    ) -> Any:
        opened.append(device)
        return on_cpu(task, CpuDevice(1))

    monkeypatch.setattr("hapgpu.cli.run.resolve_devices", lambda *_, **__: (GPUS, "made"))
    monkeypatch.setattr(cpu, "open_realigner", open_realigner)
    return opened


@pytest.mark.parametrize("processes", ["1", "2"])
def test_few_reads(
    inputs: list[Path], expected: bytes, devices: list[Device], tmp_path: Path, processes: str
) -> None:
    written = tmp_path / "gpu.bam"
    realign(*inputs, "--no-PG", "-o", written, "--processes", processes, device="cuda")
    assert written.read_bytes() == expected
    assert devices
    assert set(devices) <= set(GPUS)


def test_processes(
    inputs: list[Path],
    expected: bytes,
    devices: list[Device],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "_fill", always)
    realign(*inputs, "--no-PG", "-o", tmp_path / "gpu.bam", device="cuda")
    assert (tmp_path / "gpu.bam").read_bytes() == expected
    assert not devices  # those of the processes are not seen here
