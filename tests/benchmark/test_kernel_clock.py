"""The time in which kernels run on a GPU."""

from __future__ import annotations

import time

import cupy
import numpy as np
import pytest

from hapgpu.benchmark.cuda.kernel_clock import KernelClock, covered_seconds
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.launch import SMOKE, load_kernel

VALUES = 1 << 24


@pytest.mark.parametrize("seed", range(20))
def test_each_moment_counts_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = rng.integers(-50, 200, rng.integers(1, 30))
    ends = starts + rng.integers(0, 20, starts.size)
    moments = {
        moment
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for moment in range(start, end)
    }
    seconds = covered_seconds(starts.astype(np.float64), ends.astype(np.float64))
    assert seconds == len(moments)


def test_without_kernels() -> None:
    clock = KernelClock(CudaDevice(0))
    with clock.running():
        pass
    assert clock.seconds() == 0


@pytest.mark.gpu
def test_kernels_on_several_streams() -> None:
    with cupy.cuda.Device(0):
        kernel, values = load_kernel(SMOKE, 0), cupy.zeros(VALUES, dtype=np.int32)
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        clock = KernelClock(CudaDevice(0))
        cupy.cuda.Device(0).synchronize()
        start = time.perf_counter()
        with clock.running():
            for turn in range(10):
                with streams[turn % 2]:
                    kernel.launch(VALUES // 256, 256, (values, VALUES))
        seconds = clock.seconds()
        assert 0 < seconds <= time.perf_counter() - start
        kernel.launch(VALUES // 256, 256, (values, VALUES))
        assert clock.seconds() == seconds
