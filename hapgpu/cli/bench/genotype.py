"""`hapgpu bench genotype`: speed and accuracy of genotyping."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.genotyping import Measurement, benchmark_genotype
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.plot import Bar
from hapgpu.cli.bench.table import BOUND_HEADER, bound_fields, on_each
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench genotype --reference ref.fa --copies 10"""

FILES: Final = CommandFiles(reads=(Read("reference", FASTA_INDEXES),), writes=(STATISTICS, PLOT))

_HEADER: Final = (
    *("device", "data", "sites", "reads", "cells", "seconds"),
    *("sites/s", "reads/s", "GCUPS", "% wrong", "% kernels"),
    *BOUND_HEADER,
)


def genotype(
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
    """Measure genotyping of a simulated sample, from BAM to VCF.

    Prints one line per measurement, tab-separated.
    """

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_genotype(device, reference, copies or 1)

    measurements = on_each(options.devices(), measure)
    options.publish("genotype", _HEADER, measurements, _fields, _bar)


def _fields(line: Measurement) -> Iterable[object]:
    counts = (line.sites, line.reads, line.cells, f"{line.seconds:.4g}")
    rates = (f"{line.sites_per_second:.0f}", f"{line.reads_per_second:.0f}", f"{line.gcups:.4g}")
    percents = (f"{100 * line.genotype_error_rate:.3f}", f"{100 * line.kernel_fraction:.1f}")
    bound = bound_fields(line.bound, line.busy)
    return (line.device, line.data, *counts, *rates, *percents, *bound)


def _bar(line: Measurement) -> Bar:
    bound = (line.bound, line.busy)
    return Bar("whole run", line.device, line.sites_per_second, "sites/s", *bound)
