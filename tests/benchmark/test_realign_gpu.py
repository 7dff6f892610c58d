"""Measurements of alignment on a GPU."""

from __future__ import annotations

import pytest

from hapgpu.benchmark.cuda.realign import DeviceBenchmark
from hapgpu.benchmark.pairs import close_reads, distant_reads
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CudaDevice

pytestmark = pytest.mark.gpu

READ = PRESETS["read-to-haplotype"]


@pytest.mark.parametrize("with_trace", [True, False])
def test_seconds_and_cells(*, with_trace: bool) -> None:
    for make, least in ((distant_reads, 300), (close_reads, 0)):
        pairs = make(300, 100, 200)
        measured = DeviceBenchmark(
            pairs, READ, Overhang.SOFTCLIP, CudaDevice(0), with_trace=with_trace
        )
        work = measured.work()
        assert least <= work.pairs <= (least or 100)
        assert 100 * 200 * work.pairs <= work.cells < 2 * 100 * 200 * max(work.pairs, 1)
        assert 0 < measured.kernel_seconds() < measured.device_seconds() < 1
