"""How long the kernels that score anchors take, with the anchors on the GPU already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.cuda import chain_scores
from hapgpu.chaining.rules import ChainRules
from hapgpu.chaining.successors import successor_scores
from hapgpu.device import CudaDevice
from hapgpu.gpu import thread_streams

Scoring = Callable[[Anchors, ChainRules], ChainScores]


@dataclass(frozen=True, slots=True)
class ScoringTime:
    """How long the scores of a batch of anchors took.

    Attributes
    ----------
    anchors, pairs
        Anchors, and pairs of one with a predecessor within reach, whether visited or not.
    best_seconds, median_seconds
        Of several runs.
    """

    anchors: int
    pairs: int
    best_seconds: float
    median_seconds: float

    @property
    def anchors_per_second(self) -> float:
        """Anchors, by the median."""
        return self.anchors / self.median_seconds

    @property
    def pairs_per_second(self) -> float:
        """Pairs, by the median."""
        return self.pairs / self.median_seconds


def time_scores(
    anchors: Anchors, rules: ChainRules, device: CudaDevice, copies: int, repeats: int
) -> ScoringTime:
    """Measure `cuda.chain_scores`.

    Parameters
    ----------
    anchors
        On the host.
    rules
        Of chaining.
    device
        Where to compute.
    copies
        How often the reads are repeated, at least once: a GPU needs thousands of them.
    repeats
        How often, at least once; one more run is not timed.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The copies do not fit.
    """
    return _time(chain_scores, anchors, rules, device, copies, repeats)


def time_successors(
    anchors: Anchors, rules: ChainRules, device: CudaDevice, copies: int, repeats: int
) -> ScoringTime:
    """Measure `successors.successor_scores`; as `time_scores`."""
    return _time(successor_scores, anchors, rules, device, copies, repeats)


def count_pairs(anchors: Anchors, rules: ChainRules) -> int:
    """Count pairs of an anchor with a predecessor within reach, of anchors on the host."""
    pairs = 0
    distance = np.uint64(rules.max_distance_x)
    for begin, end in zip(anchors.offsets[:-1].tolist(), anchors.offsets[1:].tolist(), strict=True):
        x = anchors.x[begin:end]
        sequence_begin = x >> np.uint64(32) << np.uint64(32)
        reach_begin = np.maximum(x, distance) - distance
        first = np.searchsorted(x, np.maximum(reach_begin, sequence_begin))
        ranges = np.arange(x.size) - first
        pairs += int(np.minimum(ranges, rules.max_iterations).sum())
    return pairs


def copied_to_device(anchors: Anchors, copies: int) -> Anchors:
    """Return anchors of the host on the current device, the reads repeated."""
    starts = anchors.offsets[:-1] + np.arange(copies)[:, None] * anchors.x.size
    offsets = np.append(starts.ravel(), copies * anchors.x.size)
    return Anchors(
        x=cupy.tile(cupy.asarray(anchors.x), copies),
        y=cupy.tile(cupy.asarray(anchors.y), copies),
        offsets=cupy.asarray(offsets),
    )


def _time(
    scoring: Scoring,
    anchors: Anchors,
    rules: ChainRules,
    device: CudaDevice,
    copies: int,
    repeats: int,
) -> ScoringTime:
    with cupy.cuda.Device(device.index), thread_streams(device.index, 1)[0]:
        on_device = copied_to_device(anchors, copies)
        seconds = _seconds(lambda: scoring(on_device, rules), repeats)
    return ScoringTime(
        anchors=copies * anchors.x.size,
        pairs=copies * count_pairs(anchors, rules),
        best_seconds=min(seconds),
        median_seconds=float(np.median(seconds)),
    )


def _seconds(run: Callable[[], Any], repeats: int) -> list[float]:
    """Return the seconds of each run but the first."""
    run()
    seconds = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return seconds
