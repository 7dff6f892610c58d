"""Benchmark of many small calls of the aligner, as GATK makes them, in a queue."""

from __future__ import annotations

from typing import Final

from hapgpu.arrays.batches import PairBatch
from hapgpu.benchmark.measurement import repeats_on, timed
from hapgpu.realign.queue import AlignmentQueue
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import CpuDevice, Device

QUEUED_PAIRS: Final = 100
"""Pairs per call."""


def queued_seconds(pairs: PairBatch, scoring: Scoring, device: Device) -> float:
    """Measure calls of 100 pairs, soft-clipped: the median of the seconds of all calls.

    All calls are submitted before a result is asked for.

    Parameters
    ----------
    pairs
        At least one; pair i is reference i with query i.
    scoring, device
        Weights and device.
    """
    calls = [
        (
            pairs.references[start : start + QUEUED_PAIRS],
            pairs.queries[start : start + QUEUED_PAIRS],
        )
        for start in range(0, len(pairs), QUEUED_PAIRS)
    ]
    name, threads = "cpu", None
    if isinstance(device, CpuDevice):
        threads = device.threads
    else:
        name = f"cuda:{device.index}"
    with AlignmentQueue(scoring=scoring, device=name, threads=threads) as queue:

        def run() -> None:
            pending = [queue.submit(*call) for call in calls]
            for each in pending:
                each.result()

        run()
        return timed(run, repeats_on(device))[1]
