"""The benchmark of reading into GPU memory reads all records."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.benchmark.cuda.io import read_to_gpu
from hapgpu.benchmark.io import benchmark_io
from hapgpu.runtime.devices import CudaDevice

pytestmark = pytest.mark.gpu


def test_all_records_are_read(data_dir: Path) -> None:
    path = data_dir / "illumina_na12878" / "HG002.chr20.dev.bam"
    assert read_to_gpu(str(path), CudaDevice(0), threads=2) == 10_782


def test_measurements() -> None:
    lines = list(benchmark_io([CudaDevice(0)], threads=1, copies=1, seconds=0.01))
    assert lines[-1].task == "BAM to GPU memory"
    assert all(line.count == 400_000 for line in lines)
