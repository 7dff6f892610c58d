"""`hapgpu bench map`: speed of the mapping of short reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.methods import SearchMethod
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.scaling import Scaling, copies_need, publish_scaling
from hapgpu.cli.bench.table import BOUND, RUN_KEYS, SECONDS, SHARE, MeasurementTable, plain, rate
from hapgpu.cli.commands import map as commands
from hapgpu.cli.options.effects import contradicts
from hapgpu.cli.options.file_kinds import FASTQ_OR_FASTA, MAP_REFERENCE
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.errors import UsageError
from hapgpu.runtime.devices import Device
from hapgpu.shortread.index.names import SUFFIX

EXAMPLES: Final = """Measure simulated reads, and the search of Seide 2012 in the same index:
hapgpu bench map --reference ref.fa
hapgpu bench map --reference ref.fa --method backtracking

Measure the reads of a file, repeated 10 times:
hapgpu bench map --reference ref.fa --reads reads.fq.gz --copies 10"""

FILES: Final = CommandFiles(
    reads=(
        Read("reference", (*FASTA_INDEXES, SUFFIX), expected=MAP_REFERENCE),
        Read("reads", standard=True, expected=FASTQ_OR_FASTA),
    ),
    writes=(STATISTICS, PLOT),
)

NO_EFFECT: Final = (
    copies_need("reads", "--reads"),
    contradicts("scaling", "--scaling", "method"),
)

_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data", "reads", "hits"),
        SECONDS,
        rate("M reads/s", "reads", ".4g", 1e6),
        *BOUND,
        SHARE,
    ),
    ("device", "task", "data", "reads", "hits", "seconds", *RUN_KEYS),
)


def map(  # noqa: A001  (the name of the command)
    *,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="REF.fa",
            help="Reference, with its index if it exists; a random one if not given.",
        ),
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="READS",
            help="Reads instead of simulated ones; - is standard input.",
        ),
    ] = None,
    method: Annotated[
        SearchMethod,
        typer.Option(
            "--method",
            help="Algorithm: fm, as in hapgpu map, or backtracking (Seide 2012).",
        ),
    ] = SearchMethod.FM,
    copies: Copies = None,
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure the mapping of short reads, on simulated data or your files, and a whole run.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.mapping import benchmark_map, map_run

    if reads is not None and reference is None:
        raise UsageError("--reads: needs the reference to map to; add --reference FASTA")

    run = options.runner_of(commands.map)

    def prepare(directory: Path) -> list[CommandRun]:
        return [map_run(directory, reference, reads, copies or 1, options.threads)]

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_map(
            device,
            reference=reference,
            reads=reads,
            copies=copies or 1,
            method=method,
            run=run,
        )

    if scaling:
        publish_scaling(options, "map", prepare)
    else:
        options.publish("map", _TABLE, options.on_each(measure))
