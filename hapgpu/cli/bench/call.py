"""`hapgpu bench call`: speed and accuracy of variant calling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hapgpu.benchmark.calling import benchmark_call
from hapgpu.benchmark.measurement import Measurement
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies, SampleReference
from hapgpu.cli.bench.table import (
    BOUND,
    BOUND_KEYS,
    GCUPS,
    SECONDS,
    Column,
    MeasurementTable,
    number,
    plain,
    rate,
)
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench call --reference ref.fa --copies 10"""

FILES: Final = CommandFiles(reads=(Read("reference", FASTA_INDEXES),), writes=(STATISTICS, PLOT))

_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data", "bases", "reads", "active_regions"),
        Column("cells", lambda line: line.numbers["cells"] or "-"),
        SECONDS,
        rate("Mb/s", "bases", ".4g", 1e6),
        rate("reads/s", "reads", ".0f"),
        GCUPS,
        number("% of stages", "fraction", ".2f", 100),
        number("% recall", "recall", ".2f", 100),
        number("% precision", "precision", ".2f", 100),
        *BOUND,
    ),
    (
        *("device", "task", "data", "bases", "reads", "active_regions", "seconds"),
        *("cells", "fraction", "recall", "precision", *BOUND_KEYS),
    ),
)


def call(
    *,
    reference: SampleReference,
    copies: Copies = None,
    options: BenchOptions,
) -> None:
    """Measure variant calling of a simulated sample, from BAM to VCF, and its stages.

    Prints one line per measurement, tab-separated. Seconds of a stage are summed over its threads.
    """

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_call(device, reference, copies or 1)

    options.publish("call", _TABLE, options.on_each(measure))
