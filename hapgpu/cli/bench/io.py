"""`hapgpu bench io`: speed of reading and writing BAM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hapgpu.benchmark.io import Measurement, benchmark_io
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.plot import Bar
from hapgpu.cli.options.files import STATISTICS, CommandFiles

EXAMPLES: Final = """Example: hapgpu bench io -t 16"""

FILES: Final = CommandFiles(writes=(STATISTICS, PLOT))

_HEADER: Final = ("device", "task", "threads", "reads", "seconds", "M reads/s")


def io(*, copies: Copies = None, options: BenchOptions) -> None:
    """Measure reading and writing of BAM with 1, 2, 4 ... threads, and reading into GPU memory.

    The file holds 400,000 reads per copy, by default 10 copies.

    Prints one line per measurement, tab-separated.
    """
    measurements = benchmark_io(options.devices(), options.threads, copies or 10)
    options.publish("io", _HEADER, measurements, _fields, _bar)


def _fields(line: Measurement) -> Iterable[object]:
    rate = f"{line.reads_per_second / 1e6:.3f}"
    return (line.device, line.task, line.threads, line.reads, f"{line.seconds:.4g}", rate)


def _bar(line: Measurement) -> Bar:
    name = f"{line.task}, {line.threads} thread{'s' * (line.threads > 1)}"
    return Bar(name, line.device, line.reads_per_second, "reads/s")
