"""`hapgpu bench realign`: speed of the alignment of reads to haplotypes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.methods import AlignMethod
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.scaling import Scaling, publish_scaling
from hapgpu.cli.bench.table import (
    BOUND,
    RUN_KEYS,
    SHARE,
    Column,
    MeasurementTable,
    percent,
    plain,
    rate,
)
from hapgpu.cli.commands import realign as commands
from hapgpu.cli.options.effects import contradicts, needs
from hapgpu.cli.options.files import STATISTICS, CommandFiles
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure one GPU, and draw the rates:
hapgpu bench realign --device cuda:0 --plot rates.svg

Compare with the design of Ren et al. 2019, at 3,000 and 100 pairs per call:
hapgpu bench realign --device cuda:0 --method ren2019"""

FILES: Final = CommandFiles(writes=(STATISTICS, PLOT))

NO_EFFECT: Final = (
    needs("scaling", "--scaling", "copies"),
    contradicts("scaling", "--scaling", "method"),
)


def _share_in_matrices(line: Measurement) -> float | None:
    """Return the fraction of the pairs of whose matrices cells are computed."""
    found, pairs = line.numbers["matrix_pairs"], line.numbers["pairs"]
    return None if found is None or not pairs else found / pairs


_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data"),
        rate("pairs/s", "pairs", ".0f"),
        rate("GCUPS", "cells", ".2f", 1e9),
        rate("effective GCUPS", "effective_cells", ".2f", 1e9),
        Column("% in matrices", lambda line: percent(_share_in_matrices(line))),
        *BOUND,
        SHARE,
    ),
    (
        *("device", "task", "data", "read_length", "haplotype_length", "pairs", "matrix_pairs"),
        *("cells", "effective_cells", "seconds", *RUN_KEYS),
    ),
    shows_data=True,
)


def realign(
    *,
    method: Annotated[
        AlignMethod,
        typer.Option(
            "--method",
            help="Design: hapgpu, as in hapgpu realign, or ren2019 beside it (Ren 2019; GPU only).",
        ),
    ] = AlignMethod.HAPGPU,
    copies: Copies = None,
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure the alignment of random reads to haplotypes, and a whole run of the command.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.realign import benchmark_realign, compare_designs, realign_run

    run = options.runner_of(commands.realign)

    def prepare(directory: Path) -> list[CommandRun]:
        return [realign_run(directory, copies or 1, options.threads)]

    def measure(device: Device) -> Iterable[Measurement]:
        if method is AlignMethod.REN2019:
            return compare_designs(device)
        return benchmark_realign(device, run)

    if scaling:
        publish_scaling(options, "realign", prepare)
    else:
        options.publish("realign", _TABLE, options.on_each(measure))
