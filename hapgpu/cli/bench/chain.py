"""`hapgpu bench chain`: speed of the mapping and alignment of long reads, or of chain scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.methods import ScoreMethod
from hapgpu.benchmark.whole_runs import CommandRun, Statistics
from hapgpu.cli.bench.options import PLOT, BenchOptions, Copies
from hapgpu.cli.bench.scaling import Scaling, publish_scaling
from hapgpu.cli.bench.table import BOUND, RUN_KEYS, SECONDS, SHARE, Column, MeasurementTable, plain
from hapgpu.cli.commands import chain as commands
from hapgpu.cli.options.chain import DEFAULT_PRESET, Preset
from hapgpu.cli.options.effects import contradicts
from hapgpu.cli.options.file_kinds import ANCHORS, REFERENCE
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.cli.options.numbers import parse_count
from hapgpu.errors import UsageError
from hapgpu.longread.index.names import SUFFIX
from hapgpu.longread.options import preset
from hapgpu.runtime.devices import Device

if TYPE_CHECKING:
    from hapgpu.simulation.long_reads import LongReadModel

EXAMPLES: Final = """Measure simulated reads, the whole way to PAF and SAM, and stage by stage:
hapgpu bench chain --reference ref.fa --bases 200m --read-length 50k

Measure the scoring of ready-made anchors, repeated 100 times:
hapgpu bench chain --anchors anchors.npz --copies 100"""

FILES: Final = CommandFiles(
    reads=(
        Read("reference", (*FASTA_INDEXES, f".*{SUFFIX}"), expected=REFERENCE),
        Read("anchors", expected=ANCHORS),
    ),
    writes=(STATISTICS, PLOT),
)

NO_EFFECT: Final = (
    contradicts("anchors", "--anchors", "bases", "read_length", "error", "scaling"),
    contradicts("reference", "--reference", "method", "copies"),
)

_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data", "count", "unit"),
        SECONDS,
        Column("M/s", lambda line: f"{line.rate / 1e6:.4g}"),
        *BOUND,
        SHARE,
    ),
    ("device", "task", "data", "unit", "count", "seconds", *RUN_KEYS),
)
_MIN_READ_LENGTH: Final = 100
_READS: Final = "Simulated reads"


def chain(
    *,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", metavar="REF.fa", help="Reference; reads are simulated from it."
        ),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            "--anchors",
            metavar="FILE.npz",
            help="Ready-made anchors (arrays x, y, offsets), of which the scoring is measured.",
        ),
    ] = None,
    method: Annotated[
        ScoreMethod | None,
        typer.Option(
            "--method",
            help="Algorithm for --anchors: predecessor, as in hapgpu chain, or successor (mm2-ax; "
            "GPU only).",
        ),
    ] = None,
    copies: Copies = None,
    scaling: Scaling = False,
    bases: Annotated[
        int | None,
        typer.Option(
            "--bases",
            metavar="INT",
            parser=parse_count,
            help="Total bases, such as 200m [20m; a GPU 1g; --scaling 200m].",
            rich_help_panel=_READS,
        ),
    ] = None,
    read_length: Annotated[
        int | None,
        typer.Option(
            "--read-length",
            metavar="INT",
            parser=parse_count,
            help="Mean length [10k].",
            rich_help_panel=_READS,
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            metavar="FLOAT",
            min=0,
            max=1,
            help="Error rate [0.08].",
            rich_help_panel=_READS,
        ),
    ] = None,
    preset_name: Preset = None,
    options: BenchOptions,
) -> None:
    """Measure the mapping and alignment of simulated long reads, or the scoring of anchors.

    Prints one line per measurement, tab-separated.
    """
    from hapgpu.benchmark.anchors import benchmark_anchors
    from hapgpu.benchmark.long_reads import benchmark_reads, chain_runs

    if (reference is None) == (anchors is None):
        raise UsageError("--reference, --anchors: both or neither; give one of them")
    if read_length is not None and read_length < _MIN_READ_LENGTH:
        raise UsageError(f"--read-length {read_length}: must be at least {_MIN_READ_LENGTH}")
    name = preset_name or DEFAULT_PRESET
    long_read_options = preset(name)
    model = _read_model(read_length, error)

    run_chain = options.runner_of(commands.chain)

    def run(arguments: Sequence[str]) -> Statistics:
        return run_chain([*arguments, "-x", name])

    def measure(device: Device) -> Iterable[Measurement]:
        if reference is not None:
            yield from benchmark_reads(device, reference, long_read_options, bases, model, run)
        if anchors is not None:
            yield from benchmark_anchors(
                device, anchors, long_read_options, copies or 1, method or ScoreMethod.PREDECESSOR
            )

    if reference is not None and scaling:

        def prepare(directory: Path) -> list[CommandRun]:
            threads = options.threads
            runs = chain_runs(directory, reference, long_read_options, model, bases, threads)
            return [replace(each, arguments=(*each.arguments, "-x", name)) for each in runs]

        publish_scaling(options, "chain", prepare)
    else:
        options.publish("chain", _TABLE, options.on_each(measure))


def _read_model(read_length: int | None, error: float | None) -> LongReadModel:
    """Return the model of the simulated reads; no read is shorter than half of a small mean."""
    from hapgpu.simulation.long_reads import LongReadModel

    default = LongReadModel()
    mean = read_length or default.mean_length
    return LongReadModel(
        mean_length=mean,
        min_length=min(default.min_length, mean // 2),
        error_rate=default.error_rate if error is None else error,
    )
