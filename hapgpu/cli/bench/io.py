"""`hapgpu bench io`: speed of reading and writing BAM."""

from __future__ import annotations

from typing import Final

from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.table import SECONDS, MeasurementTable, plain, rate
from hapgpu.cli.options.files import STATISTICS, CommandFiles

EXAMPLES: Final = """Measure up to 16 threads:
hapgpu bench io -t 16"""

FILES: Final = CommandFiles(writes=(STATISTICS, PLOT))

_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "threads", "reads"),
        SECONDS,
        rate("M reads/s", "reads", ".3f", 1e6),
    ),
    ("device", "task", "threads", "reads", "seconds"),
    shows_data=True,
)


def io(*, copies: Copies = None, options: BenchOptions) -> None:
    """Measure reading and writing of BAM with 1, 2, 4 ... threads, and reading into GPU memory.

    The file holds 400,000 reads per copy, by default 10 copies.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.io import benchmark_io

    measurements = benchmark_io(options.devices(), options.threads, copies or 10)
    options.publish("io", _TABLE, measurements)
