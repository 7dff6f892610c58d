"""Benchmark of reading and writing BAM."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime import leftovers
from hapgpu.simulation.short_reads import REFERENCE_LENGTH, simulated_reads

_BATCH_READS: Final = 50_000
_BATCHES: Final = 8


def benchmark_io(threads: int, seconds: float = 3.0) -> dict[str, float]:
    """Measure reading and writing of a temporary file of 400,000 simulated reads of 150 bases.

    Parameters
    ----------
    threads
        CPU threads to use.
    seconds
        Minimum duration of each measurement.

    Returns
    -------
    dict
        `decode_reads_per_second_per_core`, with one thread, `decode_reads_per_second` and
        `encode_records_per_second` (level 1) with `threads`.
    """
    batch = simulated_reads(_BATCH_READS)
    header = SamHeader.from_references(["chr20"], [REFERENCE_LENGTH])
    with leftovers.temporary_directory() as directory:
        path = str(Path(directory, "reads.bam"))

        def encode() -> None:
            with open_writer(path, header, threads=threads) as writer:
                for _ in range(_BATCHES):
                    writer.write(batch)

        def decode(threads: int) -> None:
            with open_reads(path, threads=threads) as source:
                for _ in source.batches():
                    pass

        encoding = _rate(encode, seconds)
        return {
            "decode_reads_per_second_per_core": _rate(lambda: decode(1), seconds),
            "decode_reads_per_second": _rate(lambda: decode(threads), seconds),
            "encode_records_per_second": encoding,
        }


def _rate(task: Callable[[], None], seconds: float) -> float:
    """Return reads per second of the fastest of several runs, after one run without timing."""
    task()
    best = float("inf")
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        task()
        best = min(best, time.perf_counter() - start)
    return _BATCHES * _BATCH_READS / best
