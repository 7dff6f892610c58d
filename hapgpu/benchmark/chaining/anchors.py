"""How fast ready-made anchors are scored: what `hapgpu bench chain --anchors` measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.benchmark.measurement import Measurement, median_seconds
from hapgpu.chaining.anchors.files import load_anchors
from hapgpu.chaining.anchors.predecessor_ranges import predecessor_ranges
from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.options import UNLIMITED_SKIP, MapOptions
from hapgpu.chaining.parameters import ChainParameters, chain_parameters
from hapgpu.chaining.run.anchor_chains import pieces_of
from hapgpu.chaining.scores.cpu import chain_scores
from hapgpu.errors import InputError, UsageError
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device

_ANCHORS_ON_CPU: Final = 1 << 16
_GPU_REPEATS: Final = 9


class Method(StrEnum):
    """How anchors are scored: by predecessors as minimap2 does, or by successors as mm2-ax."""

    PREDECESSOR = "predecessor"
    SUCCESSOR = "successor"


@dataclass(frozen=True, slots=True)
class _Job:
    """What is scored, and by which parameters."""

    task: str
    data: str
    anchors: Anchors
    parameters: ChainParameters
    copies: int
    method: Method

    @property
    def visits_all(self) -> bool:
        return self.parameters.max_skip == UNLIMITED_SKIP

    def measured(self, device: Device, seconds: float) -> Iterator[Measurement]:
        """Yield anchors and, where all of them are visited, pairs with a predecessor in reach."""
        counts = {"anchors": self.anchors.x.size}
        if self.visits_all:
            pairs = predecessor_ranges(self.anchors, self.parameters).sum(dtype=np.int64)
            counts["pairs"] = int(pairs)
        for unit, count in counts.items():
            total = self.copies * count
            yield Measurement(device.name, self.task, self.data, unit, total, seconds)


def benchmark_anchors(
    device: Device,
    path: Path,
    options: MapOptions,
    copies: int = 1,
    method: Method = Method.PREDECESSOR,
) -> Iterator[Measurement]:
    """Measure how fast the anchors of a file are scored: all predecessors visited, then few.

    On the CPU with one thread and with all, on a GPU with the anchors there already.

    Parameters
    ----------
    device
        Where to compute.
    path
        A .npz file that `load_anchors` reads.
    options
        Those of chains, and the length of k-mers.
    copies
        How often all reads of the file are repeated, at least once.
    method
        Of scoring. With `SUCCESSOR`, all predecessors are visited, and nothing else is measured.

    Raises
    ------
    InputError
        The file cannot be read or holds no anchors.
    UsageError
        The method is not for the device.
    DeviceError
        The copies do not fit into the memory of the GPU.
    """
    if method is Method.SUCCESSOR and not isinstance(device, CudaDevice):
        raise UsageError("--method successor needs a GPU: give --device cuda")
    anchors = load_anchors(path)
    if not anchors.x.size:
        raise InputError(f"{path}: holds no anchors")
    for job in _jobs(f"{path.name} x{copies}", anchors, options, copies, method):
        if isinstance(device, CudaDevice):
            yield from job.measured(device, _seconds_on_gpu(job, device))
        else:
            for threads in sorted({1, device.threads}):
                seconds = _seconds_on_cpu(job, threads)
                yield from job.measured(CpuDevice(threads), seconds)


def _jobs(
    data: str, anchors: Anchors, options: MapOptions, copies: int, method: Method
) -> Iterator[_Job]:
    all_visited = replace(options.chains, max_skip=UNLIMITED_SKIP)
    parameters = chain_parameters(all_visited, options.sketch.k)
    if method is Method.SUCCESSOR:
        yield _Job("successors, all", data, anchors, parameters, copies, method)
        return
    yield _Job("scores, all predecessors", data, anchors, parameters, copies, method)
    parameters = chain_parameters(options.chains, options.sketch.k)
    yield _Job(f"scores, skip {parameters.max_skip}", data, anchors, parameters, copies, method)


def _seconds_on_cpu(job: _Job, threads: int) -> float:
    pieces = pieces_of(job.anchors, _ANCHORS_ON_CPU) * job.copies
    return median_seconds(lambda piece: chain_scores(piece, job.parameters), pieces, threads)


def _seconds_on_gpu(job: _Job, device: CudaDevice) -> float:
    from hapgpu.benchmark.chaining.cuda import time_scores, time_successors  # noqa: PLC0415  (imports CuPy)

    timed = time_successors if job.method is Method.SUCCESSOR else time_scores
    return timed(job.anchors, job.parameters, device, job.copies, _GPU_REPEATS)
