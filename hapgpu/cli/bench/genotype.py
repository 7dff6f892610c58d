"""`hapgpu bench genotype`: speed and accuracy of genotyping."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies, SampleReference
from hapgpu.cli.bench.scaling import Scaling, publish_scaling
from hapgpu.cli.bench.table import (
    BOUND,
    BOUND_KEYS,
    GCUPS,
    SECONDS,
    MeasurementTable,
    number,
    plain,
    rate,
)
from hapgpu.cli.options.file_kinds import REFERENCE
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench genotype --reference ref.fa --copies 10"""

FILES: Final = CommandFiles(
    reads=(Read("reference", FASTA_INDEXES, expected=REFERENCE),), writes=(STATISTICS, PLOT)
)

_TABLE: Final = MeasurementTable(
    (
        *plain("device", "data", "sites", "reads", "cells"),
        SECONDS,
        rate("sites/s", "sites", ".0f"),
        rate("reads/s", "reads", ".0f"),
        GCUPS,
        number("% wrong", "genotype_error_rate", ".3f", 100),
        number("% kernels", "kernel_fraction", ".1f", 100),
        *BOUND,
    ),
    (
        *("device", "data", "sites", "reads", "cells", "seconds"),
        *("genotype_error_rate", "kernel_fraction", *BOUND_KEYS),
    ),
)


def genotype(
    *,
    reference: SampleReference,
    copies: Copies = None,
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure genotyping of a simulated sample, from BAM to VCF.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.genotyping import benchmark_genotype, genotype_run

    def prepare(directory: Path) -> list[CommandRun]:
        return [genotype_run(directory, reference, copies or 1, options.threads)]

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_genotype(device, reference, copies or 1)

    if scaling:
        publish_scaling(options, "genotype", prepare)
    else:
        options.publish("genotype", _TABLE, options.on_each(measure))
