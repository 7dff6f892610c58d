"""`hapgpu index`: the FM index or the minimizers of a reference, kept in a file."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hapgpu.chaining.index import build as minimizer_build
from hapgpu.chaining.index import files as minimizer_files
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SketchOptions
from hapgpu.cli.options.chain import Compressed, Kmer, Preset, Window, chosen_sketch
from hapgpu.cli.options.common import (
    MAX_THREADS,
    Debug,
    DeviceName,
    Json,
    Quiet,
    Verbose,
)
from hapgpu.cli.options.files import (
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    Written,
)
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.summary import announce
from hapgpu.errors import UsageError
from hapgpu.io.files.output import write_json
from hapgpu.io.files.reread import is_pipe
from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.files import FM_INDEX_FILE, default_index_path
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.runtime.devices import CpuDevice, resolve_devices, usable_cpus
from hapgpu.runtime.statistics import RunStatistics

EXAMPLES: Final = """The FM index beside the reference, where hapgpu map finds it:
hapgpu index reference.fa

Less than half as large, and slower to map with:
hapgpu index --low-memory reference.fa

The minimizers beside the reference, where hapgpu chain -x map-hifi finds them:
hapgpu index --minimizers -x map-hifi reference.fa"""


def _path(values: Values) -> Path:
    """Return where the index is written if no name is given."""
    reference = values["reference"]
    if not values.get("minimizers"):
        return default_index_path(reference)
    given = {"k": values["kmer"], "w": values["window"], "is_hpc": values["hpc"] or None}
    return minimizer_files.default_index_path(reference, chosen_sketch(values["preset"], given))


FILES: Final = CommandFiles(
    reads=(Read("reference", FASTA_INDEXES),),
    writes=(Written("output", default=_path), STATISTICS),
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Job:
    """How to make an index and where to keep it; `sizes` tells its contigs and bases."""

    path: Path
    device: str
    threads: int
    announcement: str
    build: Callable[[Path], Any]
    save: Callable[[Any, Path], None]
    sizes: Callable[[Any], tuple[int, int]]


def index(  # noqa: PLR0913  (its parameters are the options)
    *,
    reference: Annotated[
        Path,
        typer.Argument(metavar="REF.fa", help="Reference: FASTA, plain or gzip."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the index here instead of beside the reference, to REF.fa.hgx;"
            " minimizers to REF.fa.k15w10.hgm, or what k and w are (H: with -H).",
            rich_help_panel="Output",
        ),
    ] = None,
    low_memory: Annotated[
        bool,
        typer.Option(
            "--low-memory",
            help="Keep only some of the places where suffixes begin; the same hits come out.",
        ),
    ] = False,
    minimizers: Annotated[
        bool,
        typer.Option("--minimizers", help="Find the minimizers instead, for hapgpu chain."),
    ] = False,
    preset: Preset = None,
    kmer: Kmer = None,
    window: Window = None,
    hpc: Compressed = False,
    json: Json = None,
    device: DeviceName = "auto",
    threads: Annotated[
        int | None,
        typer.Option(
            "-t",
            "--threads",
            "-@",
            min=1,
            max=MAX_THREADS,
            show_default="usable CPUs",
            help="Number of CPU threads that find minimizers.",
            rich_help_panel="Devices and threads",
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Build the FM index of a reference, for hapgpu map, or find its minimizers, for hapgpu chain.

    The file is the same on every device. Map and chain check that it belongs
    to the reference: after a change of the reference, run this again.
    """
    set_up_messages("index", quiet=quiet, verbose=verbose, debug=debug)
    if output is None and is_pipe(str(reference)):
        raise UsageError(f"{reference} is a pipe, beside which no index is kept: add -o FILE")
    if minimizers:
        given: dict[str, object] = {
            "--low-memory": low_memory,
            f"--device {device}": device not in {"auto", "cpu"},
        }
        _refuse(given, "minimizers are found on the CPU and kept whole")
        sketch = chosen_sketch(preset, {"k": kmer, "w": window, "is_hpc": hpc or None})
        job = _minimizer_job(reference, output, sketch, threads or usable_cpus())
    else:
        given = {"-x": preset, "-k": kmer, "-w": window, "-H": hpc, "-t": threads}
        _refuse(given, "this is for minimizers: add --minimizers")
        job = _fm_job(reference, output, device, low_memory=low_memory)
    announce("index", job.announcement, quiet=quiet)
    statistics = _run(job, reference)
    if json is not None:
        write_json(json, statistics.as_dict())


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Refuse options that were given although the other index is asked for."""
    names = [name for name, value in given.items() if value]
    if names:
        raise UsageError(f"{' '.join(names)}: {reason}")


def _fm_job(reference: Path, output: Path | None, device: str, *, low_memory: bool) -> _Job:
    devices, announcement = resolve_devices(device, threads=1)

    def build(fasta: Path) -> FMIndexArrays:
        return build_index(fasta, devices[0], low_memory=low_memory)

    def sizes(data: FMIndexArrays) -> tuple[int, int]:
        return len(data.contigs.names), int(data.contigs.offsets[-1])

    path = output or default_index_path(reference)
    return _Job(path, devices[0].name, 1, announcement, build, FM_INDEX_FILE.save, sizes)


def _minimizer_job(
    reference: Path, output: Path | None, sketch: SketchOptions, threads: int
) -> _Job:
    cpu = CpuDevice(threads)

    def build(fasta: Path) -> MinimizerIndex:
        return minimizer_build.build_index(fasta, sketch, threads)

    def sizes(data: MinimizerIndex) -> tuple[int, int]:
        return len(data.names), int(data.lengths.sum())

    path = output or minimizer_files.default_index_path(reference, sketch)
    save = minimizer_files.MINIMIZER_FILE.save
    return _Job(path, cpu.name, threads, f"device: {cpu.name}", build, save, sizes)


def _run(job: _Job, reference: Path) -> RunStatistics:
    statistics = RunStatistics("index", sys.argv, [job.device], threads=job.threads)

    def save(data: Any) -> None:
        job.save(data, job.path)

    data = statistics.timed("build", job.build)(reference)
    statistics.timed("write", save)(data)
    contigs, bases = job.sizes(data)
    statistics.count("contigs", contigs)
    statistics.count("bases", bases)
    logger.info("%s: %s", job.path, statistics.counts)
    return statistics
