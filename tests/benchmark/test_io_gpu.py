"""The benchmark of reading into GPU memory reads all records."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.benchmark.io_cuda import benchmark_gpu_reading, read_to_gpu
from hapgpu.runtime.devices import CudaDevice

pytestmark = pytest.mark.gpu


def test_all_records_are_read(data_dir: Path) -> None:
    path = data_dir / "illumina_na12878" / "HG002.chr20.dev.bam"
    assert read_to_gpu(str(path), CudaDevice(0), threads=2) == 10_782


def test_rates() -> None:
    rates = benchmark_gpu_reading(CudaDevice(0), threads=2, seconds=0.01, batches=1)
    assert set(rates) == {"gpu_decode_reads_per_second", "gpu_decode_file_bytes_per_second"}
    assert all(rate > 0 for rate in rates.values())
