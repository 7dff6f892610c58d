"""`hapgpu bench pairhmm`: speed of the pair-HMM."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.scaling import Scaling, copies_need, publish_scaling
from hapgpu.cli.bench.table import BOUND, GCUPS, RUN_KEYS, SECONDS, SHARE, MeasurementTable, plain
from hapgpu.cli.commands import pairhmm as commands
from hapgpu.cli.options.file_kinds import BATCHES
from hapgpu.cli.options.files import STATISTICS, CommandFiles, Read
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure simulated reads and haplotypes on one GPU:
hapgpu bench pairhmm --device cuda:0

Measure the text batches of a file, repeated 300 times:
hapgpu bench pairhmm --batches 10s.in --copies 300"""

FILES: Final = CommandFiles(
    reads=(Read("batches", standard=True, expected=BATCHES),), writes=(STATISTICS, PLOT)
)

NO_EFFECT: Final = (copies_need("batches", "--batches"),)

_TABLE: Final = MeasurementTable(
    (*plain("device", "task", "data", "cells"), SECONDS, GCUPS, *BOUND, SHARE),
    ("device", "task", "data", "cells", "seconds", *RUN_KEYS),
    shows_data=True,
)


def pairhmm(
    *,
    batches: Annotated[
        str | None,
        typer.Option(
            "--batches",
            metavar="FILE",
            help="Text batches instead of simulated data; - is standard input.",
        ),
    ] = None,
    copies: Copies = None,
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure the pair-HMM on simulated data or your text batches, and a whole run of the command.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.pairhmm import benchmark_pairhmm, benchmark_text_batches, pairhmm_run

    run = options.runner_of(commands.pairhmm)

    def prepare(directory: Path) -> list[CommandRun]:
        return [pairhmm_run(directory, batches, copies or 1, options.threads)]

    def measure(device: Device) -> Iterable[Measurement]:
        if batches is None:
            return benchmark_pairhmm(device, run)
        return benchmark_text_batches(batches, copies or 1, device, run)

    if scaling:
        publish_scaling(options, "pairhmm", prepare)
    else:
        options.publish("pairhmm", _TABLE, options.on_each(measure))
