"""`hapgpu bench map`: speed of the mapping of short reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.mapping import Measurement, Method, benchmark_map
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.plot import Bar
from hapgpu.cli.bench.table import (
    BOUND_HEADER,
    SHARE_HEADER,
    bound_fields,
    on_each,
    percent,
)
from hapgpu.cli.commands import map as commands
from hapgpu.cli.options.effects import needs
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.errors import UsageError
from hapgpu.mapping.index.files import SUFFIX
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure simulated reads, and the search of Seide 2012 in the same index:
hapgpu bench map --reference ref.fa && hapgpu bench map --reference ref.fa --method backtracking

Measure the reads of a file, repeated 10 times:
hapgpu bench map --reference ref.fa --reads reads.fq.gz --copies 10 --plot rates.svg"""

FILES: Final = CommandFiles(
    reads=(Read("reference", (*FASTA_INDEXES, SUFFIX)), Read("reads", standard=True)),
    writes=(STATISTICS, PLOT),
)

NO_EFFECT: Final = (needs("reads", "--reads", "copies"),)

_HEADER: Final = (
    *("device", "task", "data", "reads", "hits", "seconds", "M reads/s"),
    *BOUND_HEADER,
    SHARE_HEADER,
)


def map(  # noqa: A001  (the name of the command)
    *,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="FASTA",
            help="Reference, with its index if it exists; a random one if not given.",
        ),
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="FASTQ",
            help="Reads instead of simulated ones; - is standard input.",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="Algorithm: fm, as in hapgpu map, or backtracking (Seide 2012).",
        ),
    ] = Method.FM,
    copies: Copies = None,
    options: BenchOptions,
) -> None:
    """Measure the mapping of short reads, on simulated data or your files, and a whole run.

    Prints one line per measurement, tab-separated.
    """
    if reads is not None and reference is None:
        raise UsageError("--reads: needs the reference to map to; add --reference FASTA")

    run = options.runner_of(commands.map)

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_map(
            device,
            reference=reference,
            reads=reads,
            copies=copies or 1,
            method=method,
            run=run,
        )

    measurements = on_each(options.devices(), measure)
    options.publish("map", _HEADER, measurements, _fields, _bar)


def _fields(line: Measurement) -> Iterable[object]:
    rates = (f"{line.seconds:.4g}", f"{line.reads_per_second / 1e6:.4g}")
    reached = (*bound_fields(line.bound, line.busy), percent(line.share))
    return (line.device, line.task, line.data, line.reads, line.hits, *rates, *reached)


def _bar(line: Measurement) -> Bar:
    reached = (line.bound, line.busy, line.share)
    return Bar(line.task, line.device, line.reads_per_second, "reads/s", *reached)
