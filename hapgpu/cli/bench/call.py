"""`hapgpu bench call`: speed and accuracy of variant calling."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.calling.runs import Measurement, benchmark_call
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.plot import Bar
from hapgpu.cli.bench.table import BOUND_HEADER, bound_fields, on_each
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench call --reference ref.fa --copies 10"""

FILES: Final = CommandFiles(reads=(Read("reference", FASTA_INDEXES),), writes=(STATISTICS, PLOT))

_HEADER: Final = (
    *("device", "task", "data", "bases", "reads", "active regions", "cells", "seconds"),
    *("Mb/s", "reads/s", "GCUPS", "% of stages", "% recall", "% precision"),
    *BOUND_HEADER,
)


def call(
    *,
    reference: Annotated[
        Path,
        typer.Option(
            "--reference",
            metavar="FASTA",
            help="Reference; the sample is simulated for its longest run without N.",
        ),
    ],
    copies: Copies = None,
    options: BenchOptions,
) -> None:
    """Measure variant calling of a simulated sample, from BAM to VCF, and its stages.

    Prints one line per measurement, tab-separated. Seconds of a stage are summed over its threads.
    """

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_call(device, reference, copies or 1)

    measurements = on_each(options.devices(), measure)
    options.publish("call", _HEADER, measurements, _fields, _bar)


def _fields(line: Measurement) -> Iterable[object]:
    counts = (line.bases, line.reads, line.active_regions, line.cells or "-")
    rates = (f"{line.bases_per_second / 1e6:.4g}", f"{line.reads_per_second:.0f}")
    gcups = "-" if line.gcups is None else f"{line.gcups:.4g}"
    percents = (_percent(part) for part in (line.fraction, line.recall, line.precision))
    bound = bound_fields(line.bound, line.busy)
    about = (line.device, line.task, line.data)
    return (*about, *counts, f"{line.seconds:.4g}", *rates, gcups, *percents, *bound)


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}"


def _bar(line: Measurement) -> Bar:
    unit = "bases/s" if line.is_whole_run else "bases/s of a thread"
    return Bar(line.task, line.device, line.bases_per_second, unit, line.bound, line.busy)
