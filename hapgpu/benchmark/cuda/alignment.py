"""Comparison of the aligner of hapgpu with the design of Ren et al. 2019, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import cupy
import numpy as np

from hapgpu.arrays.batches import PairBatch
from hapgpu.benchmark.cuda.kernel_clock import KernelClock
from hapgpu.benchmark.cuda.realign import DeviceBenchmark
from hapgpu.benchmark.cuda.ren2019 import BlockAligner, align_by_blocks
from hapgpu.benchmark.measurement import GPU_REPEATS, Measurement, measuring, plan, timed
from hapgpu.benchmark.pairs import Work, distant_reads
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import thread_streams

PAIRS_PER_CALL: Final = (3000, 100)
"""As in the authors' data, and in the batches of GATK."""

_READ_LENGTH: Final = 150
_HAPLOTYPE_LENGTH: Final = 350
_UNIT: Final = "effective_cells"
_TASKS: Final = 4


class Aligner(Protocol):
    """An aligner with its pairs."""

    def work(self) -> Work:
        """Return the cells that the kernels compute."""

    def kernel_seconds(self) -> float:
        """Return the seconds in which kernels run, with the pairs on the GPU."""

    def call_seconds(self) -> float:
        """Return the seconds from host memory to host memory."""


class OwnAligner:
    """The aligner of `hapgpu realign`, with some pairs.

    Parameters
    ----------
    pairs
        At least one.
    scoring, device
        Weights and GPU.
    """

    def __init__(self, pairs: PairBatch, scoring: Scoring, device: CudaDevice) -> None:
        self._pairs, self._scoring, self._device = pairs, scoring, device
        self._on_device = DeviceBenchmark(
            pairs, scoring, Overhang.SOFTCLIP, device, with_trace=True
        )

    def work(self) -> Work:
        """Return the cells that the kernels compute, each once per pass over it."""
        return self._on_device.work()

    def kernel_seconds(self) -> float:
        """Return the median of the seconds in which kernels run."""
        return self._on_device.kernel_seconds()

    def call_seconds(self) -> float:
        """Return the median of the seconds of calls."""

        def call() -> None:
            align_pairs(self._pairs, self._scoring, Overhang.SOFTCLIP, self._device)

        call()
        return timed(call, GPU_REPEATS)[1]


class RenAligner:
    """The design of Ren et al. 2019, with some pairs; see `OwnAligner`."""

    def __init__(self, pairs: PairBatch, scoring: Scoring, device: CudaDevice) -> None:
        self._pairs, self._scoring, self._device = pairs, scoring, device
        self._stream = thread_streams(device.index, 1)[0]

    def work(self) -> Work:
        """Return all cells."""
        pairs = self._pairs
        return Work(int((pairs.reference_lengths * pairs.query_lengths).sum()), len(pairs))

    def kernel_seconds(self) -> float:
        """Return the median of the seconds in which kernels run."""
        pairs, number = self._pairs, self._device.index
        longest = int(pairs.reference_lengths.max()), int(pairs.query_lengths.max())
        seconds = []
        with cupy.cuda.Device(number), self._stream:
            aligner = BlockAligner(DevicePairs.upload(pairs), longest, self._scoring, number)
            for _ in range(GPU_REPEATS + 1):
                clock = KernelClock(self._device)
                with clock.running():
                    aligner.run()
                seconds.append(clock.seconds())
        return float(np.median(seconds[1:]))

    def call_seconds(self) -> float:
        """Return the median of the seconds of calls."""

        def call() -> None:
            align_by_blocks(self._pairs, self._scoring, self._device.index)

        with cupy.cuda.Device(self._device.index), self._stream:
            call()
            return timed(call, GPU_REPEATS)[1]


_COMPARED: Final[dict[str, Callable[[PairBatch, Scoring, CudaDevice], Aligner]]] = {
    "hapgpu": OwnAligner,
    "ren2019": RenAligner,
}


def compare_with_ren2019(device: CudaDevice) -> Iterator[Measurement]:
    """Measure both aligners with as many pairs per call.

    Kernels alone, with the pairs on the GPU, and whole calls from host memory to host memory.
    """
    plan(_TASKS * len(PAIRS_PER_CALL))
    for count in PAIRS_PER_CALL:
        pairs = distant_reads(count, _READ_LENGTH, _HAPLOTYPE_LENGTH)
        for name, method in _COMPARED.items():
            aligner = method(pairs, PRESETS["read-to-haplotype"], device)
            work = aligner.work()
            for task, measure in (
                ("kernels", aligner.kernel_seconds),
                ("whole call", aligner.call_seconds),
            ):
                measuring(f"{name}, {task}")
                yield _measured(device, f"{name}, {task}", count, work, measure())


def _measured(device: CudaDevice, task: str, count: int, work: Work, seconds: float) -> Measurement:
    return Measurement(
        device=device.name,
        task=task,
        data=f"{_READ_LENGTH} x {_HAPLOTYPE_LENGTH}, {count} pairs per call",
        unit=_UNIT,
        numbers={
            "read_length": _READ_LENGTH,
            "haplotype_length": _HAPLOTYPE_LENGTH,
            "pairs": count,
            "effective_cells": count * _READ_LENGTH * _HAPLOTYPE_LENGTH,
            "cells": work.cells,
            "matrix_pairs": work.pairs,
        },
        seconds=seconds,
    )
