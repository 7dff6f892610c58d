"""`hapgpu bench realign`: speed of the alignment of reads to haplotypes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hapgpu.benchmark.realign import Measurement, benchmark_realign
from hapgpu.cli.bench.options import PLOT, BenchOptions
from hapgpu.cli.bench.plot import Bar
from hapgpu.cli.bench.table import (
    BOUND_HEADER,
    SHARE_HEADER,
    bound_fields,
    on_each,
    percent,
)
from hapgpu.cli.commands import realign as commands
from hapgpu.cli.options.files import STATISTICS, CommandFiles
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure one GPU, and draw the rates:
hapgpu bench realign --device cuda:0 --plot rates.svg"""

FILES: Final = CommandFiles(writes=(STATISTICS, PLOT))

_HEADER: Final = (
    *("device", "task", "read", "haplotype", "pairs/s", "GCUPS"),
    *BOUND_HEADER,
    SHARE_HEADER,
)


def realign(*, options: BenchOptions) -> None:
    """Measure the alignment of random reads to haplotypes, and a whole run of the command.

    Prints one line per measurement, tab-separated.
    """
    run = options.runner_of(commands.realign)

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_realign(device, run)

    measurements = on_each(options.devices(), measure)
    options.publish("realign", _HEADER, measurements, _fields, _bar)


def _fields(line: Measurement) -> Iterable[object]:
    lengths = (line.read_length, line.haplotype_length)
    rates = (f"{line.pairs_per_second:.0f}", f"{line.gcups:.2f}")
    reached = (*bound_fields(line.bound, line.busy), percent(line.share))
    return (line.device, line.task, *lengths, *rates, *reached)


def _bar(line: Measurement) -> Bar:
    name = f"{line.task}, {line.read_length} x {line.haplotype_length}"
    reached = (line.bound, line.busy, line.share)
    return Bar(name, line.device, 1e9 * line.gcups, "cells/s", *reached)
