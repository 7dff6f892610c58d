"""`hapgpu index`: a file with the FM index or the minimizers of a reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hapgpu.chaining.index import build as minimizer_build
from hapgpu.chaining.index import files as minimizer_files
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SketchOptions
from hapgpu.cli.options.chain import SketchArguments
from hapgpu.cli.options.common import MAX_THREADS, DeviceName, ReportOptions
from hapgpu.cli.options.effects import contradicts, needs
from hapgpu.cli.options.files import (
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    Written,
)
from hapgpu.cli.options.input_kinds import REFERENCE
from hapgpu.cli.options.output_names import Formats
from hapgpu.cli.run import Run
from hapgpu.errors import UsageError
from hapgpu.io.files.reread import is_pipe
from hapgpu.mapping.index.build import build_index
from hapgpu.mapping.index.files import FM_INDEX_FILE, default_index_path
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.runtime.devices import CpuDevice, Device, resolve_devices, usable_cpus
from hapgpu.runtime.progress import Progress

EXAMPLES: Final = """Write the index of hapgpu map beside the reference:
hapgpu index reference.fa

Write a smaller index that maps more slowly:
hapgpu index --low-memory reference.fa

Write the index of hapgpu chain -x map-hifi beside the reference:
hapgpu index --minimizers -x map-hifi reference.fa"""


def _path(values: Values) -> Path:
    """Return the path of the index if none is given."""
    reference = values["reference"]
    if not values.get("minimizers"):
        return default_index_path(reference)
    arguments = {option.name: values[option.name] for option in fields(SketchArguments)}
    sketch = SketchArguments(**arguments).sketch_options()
    return minimizer_files.default_index_path(reference, sketch)


def _formats(values: Values) -> Formats:
    return ("hgm" if values.get("minimizers") else "hgx",)


FILES: Final = CommandFiles(
    reads=(Read("reference", FASTA_INDEXES, expected=REFERENCE),),
    writes=(Written("output", default=_path, formats=_formats), STATISTICS),
)

NO_EFFECT: Final = (
    contradicts("minimizers", "--minimizers", "low_memory"),
    needs(
        *("minimizers", "--minimizers", "threads"),
        *(option.name for option in fields(SketchArguments)),
    ),
)


@dataclass(frozen=True, slots=True)
class _Job:
    """How to build an index and where to save it.

    `build` takes the reference and the progress; `sizes` returns contigs and bases of an index.
    """

    path: Path
    device: Device
    threads: int
    announcement: str
    build: Callable[..., Any]
    save: Callable[[Any, Path], None]
    sizes: Callable[[Any], tuple[int, int]]


def index(
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
            help="Index file; REF.fa.hgx if not given, with --minimizers "
            "REF.fa.k<k>w<w>.hgm (with -H: ...w<w>H.hgm).",
            rich_help_panel="Output",
        ),
    ] = None,
    low_memory: Annotated[
        bool,
        typer.Option(
            "--low-memory",
            help="Sample the suffix array: smaller, slower, same hits.",
        ),
    ] = False,
    minimizers: Annotated[
        bool,
        typer.Option(
            "--minimizers", help="Build the minimizer index, for hapgpu chain, on the CPU."
        ),
    ] = False,
    arguments: SketchArguments,
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
            help="Number of CPU threads, with --minimizers.",
            rich_help_panel="Devices and threads",
        ),
    ] = None,
    reporting: ReportOptions,
) -> None:
    """Build the index of a reference: for hapgpu map, or with --minimizers for hapgpu chain.

    The file is the same on every device. map and chain check that it belongs to the reference;
    run this command again after a change of the reference.
    """
    if output is None and is_pipe(str(reference)):
        raise UsageError(f"{reference}: is a pipe, beside which no index can be written; add -o")
    if minimizers:
        if device != "auto":
            resolve_devices(device)  # an error for a device that cannot be used
        sketch = arguments.sketch_options()
        job = _minimizer_job(reference, output, sketch, threads or usable_cpus())
    else:
        job = _fm_job(reference, output, device, low_memory=low_memory)
    run = Run("index", [job.device], job.threads, reporting, job.announcement, job.path)
    run.announce()
    _build_and_save(job, reference, run)


def _fm_job(reference: Path, output: Path | None, device: str, *, low_memory: bool) -> _Job:
    devices, announcement = resolve_devices(device, threads=1)

    def build(fasta: Path, progress: Progress) -> FMIndexArrays:
        return build_index(fasta, devices[0], low_memory=low_memory, progress=progress)

    def sizes(data: FMIndexArrays) -> tuple[int, int]:
        return len(data.contigs.names), int(data.contigs.offsets[-1])

    path = output or default_index_path(reference)
    return _Job(path, devices[0], 1, announcement, build, FM_INDEX_FILE.save, sizes)


def _minimizer_job(
    reference: Path, output: Path | None, sketch: SketchOptions, threads: int
) -> _Job:
    cpu = CpuDevice(threads)

    def build(fasta: Path, progress: Progress) -> MinimizerIndex:
        return minimizer_build.build_index(fasta, sketch, threads, progress)

    def sizes(data: MinimizerIndex) -> tuple[int, int]:
        return len(data.names), int(data.lengths.sum())

    path = output or minimizer_files.default_index_path(reference, sketch)
    save = minimizer_files.MINIMIZER_FILE.save
    return _Job(path, cpu, threads, f"device: {cpu.name}", build, save, sizes)


def _build_and_save(job: _Job, reference: Path, run: Run) -> None:
    statistics = run.statistics

    def save(data: Any) -> None:
        job.save(data, job.path)

    with run.showing("bases") as progress:
        build = partial(job.build, progress=progress)
        data = statistics.timed("build", build)(reference)
        progress.phase("writing", 1.0)
        statistics.timed("write", save)(data)
    contigs, bases = job.sizes(data)
    statistics.count("contigs", contigs)
    statistics.count("bases", bases)
    run.finish(("bases", "contigs"))
