"""`hapgpu bench io`: speed of reading and writing BAM."""

from __future__ import annotations

from typing import Final

from hapgpu.benchmark.io import benchmark_io
from hapgpu.cli.bench.options import BenchOptions
from hapgpu.cli.bench.table import print_line
from hapgpu.cli.options.files import STATISTICS, CommandFiles
from hapgpu.runtime.devices import CudaDevice

EXAMPLES: Final = """Example: hapgpu bench io -t 16"""

FILES: Final = CommandFiles(writes=(STATISTICS,))


def io(*, options: BenchOptions) -> None:
    """Measure reading and writing of BAM, in reads per second.

    Prints one line per measurement, tab-separated.
    """
    devices = options.devices()
    results = benchmark_io(options.threads)
    if isinstance(devices[0], CudaDevice):
        from hapgpu.benchmark.io_cuda import benchmark_gpu_reading  # noqa: PLC0415  (imports CuPy)

        results |= benchmark_gpu_reading(devices[0], options.threads)
    for name, rate in results.items():
        print_line((name, f"{rate:.4g}"))
    options.write([{"metric": name, "value": rate} for name, rate in results.items()])
