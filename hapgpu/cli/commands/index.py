"""`hapgpu index`: a file with the FM index or the minimizers of a reference."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.chain import SketchArguments
from hapgpu.cli.options.common import DeviceName, GpuMemory, ReportOptions, Threads
from hapgpu.cli.options.effects import contradicts, needs
from hapgpu.cli.options.file_kinds import REFERENCE, Formats
from hapgpu.cli.options.files import (
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    Written,
)
from hapgpu.errors import UsageError
from hapgpu.io.files.reread import is_pipe
from hapgpu.longread.index import names as minimizer_names
from hapgpu.longread.options import SketchOptions
from hapgpu.runtime.devices import CpuDevice, resolve_devices
from hapgpu.shortread.index import names as fm_names

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
        return fm_names.default_index_path(reference)
    arguments = {option.name: values[option.name] for option in fields(SketchArguments)}
    sketch = SketchArguments(**arguments).sketch_options()
    return minimizer_names.default_index_path(reference, sketch)


def _formats(values: Values) -> Formats:
    return ("hgm" if values.get("minimizers") else "hgx",)


FILES: Final = CommandFiles(
    reads=(Read("reference", FASTA_INDEXES, expected=REFERENCE),),
    writes=(Written("output", default=_path, formats=_formats), STATISTICS),
)

NO_EFFECT: Final = (
    contradicts("minimizers", "--minimizers", "low_memory"),
    needs(
        *("minimizers", "--minimizers"),
        *(option.name for option in fields(SketchArguments)),
    ),
)


_SHOWN: Final = ("bases", "contigs")
"""Counts of the closing summary."""


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
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    reporting: ReportOptions,
) -> None:
    """Build the index of a reference: for hapgpu map, or with --minimizers for hapgpu chain.

    The file is the same on every device. map and chain check that it belongs to the reference;
    run this command again after a change of the reference.
    """
    from hapgpu.cli.run import Run
    from hapgpu.shortread.index.files import write_index

    if output is None and is_pipe(str(reference)):
        raise UsageError(f"{reference}: is a pipe, beside which no index can be written; add -o")
    if minimizers:
        _index_minimizers(reference, output, arguments.sketch_options(), device, threads, reporting)
        return
    devices, announcement = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    path = output or fm_names.default_index_path(reference)
    run = Run("index", devices[:1], threads, reporting, announcement, path)
    run.announce()
    write_index(run, reference, path, low_memory=low_memory)
    run.finish(_SHOWN)


def _index_minimizers(
    reference: Path,
    output: Path | None,
    sketch: SketchOptions,
    device: str,
    threads: int,
    reporting: ReportOptions,
) -> None:
    from hapgpu.cli.run import Run
    from hapgpu.longread.index.files import write_index

    if device != "auto":
        resolve_devices(device)  # an error for a device that cannot be used
    cpu = CpuDevice(threads)
    path = output or minimizer_names.default_index_path(reference, sketch)
    run = Run("index", [cpu], cpu.threads, reporting, f"device: {cpu.name}", path)
    run.announce()
    write_index(run, reference, path, sketch)
    run.finish(_SHOWN)
