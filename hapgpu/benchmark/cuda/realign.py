"""Benchmark of alignment on a GPU: kernels alone, and cells that they compute."""

from __future__ import annotations

import cupy
import numpy as np

from hapgpu.arrays.batches import PairBatch
from hapgpu.benchmark.cuda.kernel_clock import KernelClock
from hapgpu.benchmark.measurement import GPU_REPEATS, timed
from hapgpu.benchmark.pairs import Work
from hapgpu.realign.align.cuda.aligner import align_device_pairs, score_device_pairs
from hapgpu.realign.align.cuda.bands import band_cells
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.cuda.buckets import PairLengths
from hapgpu.realign.align.cuda.outputs import Outputs
from hapgpu.realign.align.cuda.stages import RUNS_PER_PAIR, fill
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import thread_streams


class DeviceBenchmark:
    """Pairs of a measurement, on their GPU.

    Parameters
    ----------
    pairs
        At least one.
    scoring, overhang, device
        Weights, treatment of query bases outside the reference, and the GPU.
    with_trace
        Whether to compute alignments, or only scores.
    """

    def __init__(
        self,
        pairs: PairBatch,
        scoring: Scoring,
        overhang: Overhang,
        device: CudaDevice,
        *,
        with_trace: bool,
    ) -> None:
        self._task = AlignTask(scoring, overhang, device, with_trace)
        self._stream = thread_streams(device.index, 1)[0]
        with cupy.cuda.Device(device.index), self._stream:
            self._pairs = DevicePairs.upload(pairs)

    def work(self) -> Work:
        """Return the cells that the kernels compute, and the pairs that are not `ungapped`."""
        task, pairs = self._task, self._pairs
        with cupy.cuda.Device(task.device.index), self._stream:
            lengths = PairLengths.of(pairs)
            outputs = Outputs.for_pairs(len(pairs), RUNS_PER_PAIR * len(pairs))
            passes = fill(pairs, lengths, task, outputs)
            cells = lengths.columns * lengths.rows
            total = cells[passes.scored].sum() + cells[passes.whole].sum()
            if passes.ends is not None and passes.banded.size:
                total += band_cells(pairs, passes.banded, passes.ends, task.scoring).sum()
            return Work(int(total), max(int(passes.scored.size), int(passes.whole.size)))

    def kernel_seconds(self) -> float:
        """Return the seconds in which kernels run: the median of several calls."""
        seconds = []
        for _ in range(GPU_REPEATS + 1):
            clock = KernelClock(self._task.device)
            with clock.running():
                self._run()
            seconds.append(clock.seconds())
        return float(np.median(seconds[1:]))

    def device_seconds(self) -> float:
        """Return the seconds from arrays on the GPU to arrays on the GPU, as `kernel_seconds`."""
        return timed(self._run, GPU_REPEATS)[1]

    def _run(self) -> None:
        task = self._task
        call = align_device_pairs if task.with_trace else score_device_pairs
        with cupy.cuda.Device(task.device.index), self._stream:
            call(self._pairs, task.scoring, task.overhang, task.device)
            self._stream.synchronize()
