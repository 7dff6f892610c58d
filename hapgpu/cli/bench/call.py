"""`hapgpu bench call`: speed and accuracy of variant calling."""

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
    Column,
    MeasurementTable,
    number,
    plain,
    rate,
)
from hapgpu.cli.options.file_kinds import REFERENCE
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench call --reference ref.fa --copies 10

Measure runs with 1, 2, 4 ... threads and GPUs:
hapgpu bench call --scaling --reference ref.fa --plot speed-ups.svg"""

FILES: Final = CommandFiles(
    reads=(Read("reference", FASTA_INDEXES, expected=REFERENCE),), writes=(STATISTICS, PLOT)
)

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
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure variant calling of a simulated sample, from BAM to VCF, and its stages.

    Prints one line per measurement, tab-separated. Seconds of a stage are summed over its threads.
    """
    from hapgpu.benchmark.calling import benchmark_call, call_run

    def prepare(directory: Path) -> list[CommandRun]:
        return [call_run(directory, reference, copies or 1, options.threads)]

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_call(device, reference, copies or 1)

    if scaling:
        publish_scaling(options, "call", prepare)
    else:
        options.publish("call", _TABLE, options.on_each(measure))
