"""`hapgpu bench call`: speed and accuracy of variant calling."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
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
from hapgpu.cli.options.common import region_option
from hapgpu.cli.options.effects import needs
from hapgpu.cli.options.file_kinds import ALIGNED_READS, REFERENCE
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    in_all_runs,
)
from hapgpu.errors import UsageError
from hapgpu.runtime.devices import Device

EXAMPLES: Final = """Measure a simulated sample, repeated 10 times:
hapgpu bench call --reference ref.fa --copies 10

Measure the reads of a region, repeated 20 times:
hapgpu bench call --bam sample.bam --reference ref.fa \\
    --region chr20:10,000,000-10,050,000 --copies 20

Measure runs with 1, 2, 4 ... threads and GPUs:
hapgpu bench call --scaling --reference ref.fa --plot speed-ups.svg"""

FILES: Final = CommandFiles(
    reads=(
        Read("bam", ALIGNMENT_INDEXES, expected=ALIGNED_READS, by_index=in_all_runs),
        Read("reference", FASTA_INDEXES, expected=REFERENCE),
    ),
    writes=(STATISTICS, PLOT),
)

NO_EFFECT: Final = (needs("bam", "--bam", "region"),)

_READS: Final = "Reads of a file"


def _per_megabase(title: str, name: str, form: str) -> Column:
    """Return a column of a number of a whole run per million bases; a dash for a stage."""

    def text(line: Measurement) -> str:
        bases, count = line.numbers["bases"], line.numbers[name]
        if not (line.is_whole_run and bases) or count is None:
            return "-"
        return f"{count / bases * 1e6:{form}}"

    return Column(title, text)


_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data", "bases", "reads", "active_regions"),
        Column("cells", lambda line: line.numbers["cells"] or "-"),
        _per_megabase("regions/Mb", "active_regions", ".0f"),
        _per_megabase("haplotypes/Mb", "haplotypes", ".0f"),
        _per_megabase("cells/Mb", "cells", ".4g"),
        number("host regions", "host_regions", ".0f"),
        SECONDS,
        rate("Mb/s", "bases", ".4g", 1e6),
        rate("reads/s", "reads", ".0f"),
        GCUPS,
        number("% of stages", "fraction", ".2f", 100),
        number("% kernels", "kernel_fraction", ".1f", 100),
        number("% recall", "recall", ".2f", 100),
        number("% precision", "precision", ".2f", 100),
        *BOUND,
    ),
    (
        *("device", "task", "data", "bases", "reads", "active_regions", "haplotypes", "cells"),
        *("host_regions", "seconds", "fraction", "kernel_fraction", "recall", "precision"),
        *BOUND_KEYS,
    ),
)


def call(
    *,
    bam: Annotated[
        Path | None,
        typer.Option(
            "--bam",
            metavar="READS.bam",
            help="Indexed file whose reads of a region are repeated, instead of simulated reads.",
            rich_help_panel=_READS,
        ),
    ] = None,
    reference: Annotated[
        Path,
        typer.Option(
            "--reference",
            metavar="REF.fa",
            help="Reference; without --bam, a sample is simulated for its longest run without N.",
        ),
    ],
    region: Annotated[str | None, region_option("Region of --bam.", _READS)] = None,
    copies: Copies = None,
    scaling: Scaling = False,
    options: BenchOptions,
) -> None:
    """Measure variant calling of a simulated sample or of real reads, and its stages.

    Prints one line per measurement, tab-separated. Seconds of a stage are summed over its threads.
    """
    from hapgpu.benchmark.calling import benchmark_call, call_run
    from hapgpu.benchmark.tiled_reads import ChosenReads

    chosen: ChosenReads | None = None
    if bam is not None:
        if region is None:
            raise UsageError("--bam: needs a region; add --region CHR:START-END")
        chosen = ChosenReads(bam, region)

    def prepare(directory: Path) -> list[CommandRun]:
        return [call_run(directory, reference, copies or 1, options.threads, chosen)]

    def measure(device: Device) -> Iterable[Measurement]:
        return benchmark_call(device, reference, copies or 1, chosen)

    if scaling:
        publish_scaling(options, "call", prepare)
    else:
        options.publish("call", _TABLE, options.on_each(measure))
