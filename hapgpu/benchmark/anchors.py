"""Benchmark of scoring ready-made anchors (`hapgpu bench chain --anchors`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.benchmark.measurement import (
    GPU_REPEATS,
    Measurement,
    measuring,
    plan,
    thread_variants,
    timed_blocks,
)
from hapgpu.benchmark.methods import ScoreMethod
from hapgpu.errors import InputError, UsageError
from hapgpu.longread.batches import Anchors
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.options import UNLIMITED_SKIP, LongReadOptions
from hapgpu.longread.parameters import ChainParameters, chain_parameters
from hapgpu.longread.seed.anchor_files import load_anchors
from hapgpu.longread.seed.predecessor_ranges import predecessor_ranges
from hapgpu.runtime.devices import CudaDevice, Device

_ANCHORS_ON_CPU: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class _Job:
    """Anchors to score, with parameters and method."""

    task: str
    data: str
    anchors: Anchors
    parameters: ChainParameters
    copies: int
    method: ScoreMethod

    @property
    def units(self) -> list[str]:
        visits_all = self.parameters.max_skip == UNLIMITED_SKIP
        return ["anchors", "pairs"] if visits_all else ["anchors"]

    def measured(self, device: Device, seconds: float) -> Iterator[Measurement]:
        """Yield rates of anchors and, if all predecessors are visited, of anchor pairs."""
        counts = {"anchors": self.anchors.x.size}
        if "pairs" in self.units:
            pairs = predecessor_ranges(self.anchors, self.parameters).sum(dtype=np.int64)
            counts["pairs"] = int(pairs)
        for unit, count in counts.items():
            yield Measurement(
                device=device.name,
                task=self.task,
                data=self.data,
                unit=unit,
                numbers={unit: self.copies * count},
                seconds=seconds,
            )


def benchmark_anchors(
    device: Device,
    path: Path,
    options: LongReadOptions,
    copies: int = 1,
    method: ScoreMethod = ScoreMethod.PREDECESSOR,
) -> Iterator[Measurement]:
    """Measure the scoring of the anchors of a file: with all predecessors, then with skipping.

    The CPU is measured with one thread and with all, a GPU with the anchors in its memory.

    Parameters
    ----------
    device
        Device to use.
    path
        A .npz file for `load_anchors`.
    options
        Options for chaining, and the k-mer length.
    copies
        Number of copies of all reads of the file, at least 1.
    method
        Method of scoring. `SUCCESSOR` visits all predecessors, and is the only measurement then.

    Raises
    ------
    InputError
        The file cannot be read or contains no anchors.
    UsageError
        The device does not support the method.
    DeviceError
        The copies do not fit the memory of the GPU.
    """
    if method is ScoreMethod.SUCCESSOR and not isinstance(device, CudaDevice):
        raise UsageError("--method successor: needs a GPU; give --device cuda")
    anchors = load_anchors(path)
    if not anchors.x.size:
        raise InputError(f"{path}: no anchors; give a file with at least one")
    jobs = list(_jobs(f"{path.name} x{copies}", anchors, options, copies, method))
    variants = thread_variants(device)
    plan(len(variants) * sum(len(job.units) for job in jobs))
    for job in jobs:
        for variant in variants:
            measuring(job.task)
            yield from job.measured(variant, _seconds(job, variant))


def _jobs(
    data: str, anchors: Anchors, options: LongReadOptions, copies: int, method: ScoreMethod
) -> Iterator[_Job]:
    without_skips = replace(options.chains, max_skip=UNLIMITED_SKIP)
    parameters = chain_parameters(without_skips, options.sketch.k)
    if method is ScoreMethod.SUCCESSOR:
        yield _Job("successors, all", data, anchors, parameters, copies, method)
        return
    yield _Job("scores, all predecessors", data, anchors, parameters, copies, method)
    parameters = chain_parameters(options.chains, options.sketch.k)
    yield _Job(f"scores, skip {parameters.max_skip}", data, anchors, parameters, copies, method)


def _seconds(job: _Job, device: Device) -> float:
    if isinstance(device, CudaDevice):
        from hapgpu.benchmark.cuda.chaining import time_scores, time_successors  # noqa: PLC0415  (imports CuPy)

        time_on_gpu = time_successors if job.method is ScoreMethod.SUCCESSOR else time_scores
        return time_on_gpu(job.anchors, job.parameters, device, job.copies, GPU_REPEATS)
    pieces = job.anchors.pieces(_ANCHORS_ON_CPU) * job.copies

    def score(piece: Anchors) -> None:
        chain_scores(piece, job.parameters)

    return timed_blocks(score, pieces, device.threads)[1]
