"""`hapgpu index`: the FM index of a reference, kept in a file."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.messages import set_up_messages
from hapgpu.cli.options import Debug, DeviceName, Json, Quiet, Verbose
from hapgpu.cli.run import announce, refuse_to_replace
from hapgpu.device import resolve_devices
from hapgpu.errors import OutputError
from hapgpu.fmindex.build import build_index
from hapgpu.fmindex.files import default_index_path, save_index
from hapgpu.fmindex.index_data import IndexData
from hapgpu.stats import RunStatistics

EXAMPLES: Final = """The index beside the reference, where hapgpu map finds it:
hapgpu index reference.fa

Less than half as large, and slower to map with:
hapgpu index --low-memory reference.fa"""

logger = logging.getLogger(__name__)


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
            help="Write the index here instead of to REF.fa.hgx.",
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
    json: Json = None,
    device: DeviceName = "auto",
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Build the FM index of a reference, for hapgpu map.

    The file is the same on every device. Map checks that it belongs to the
    reference: after a change of the reference, run this again.
    """
    set_up_messages("index", quiet=quiet, verbose=verbose, debug=debug)
    refuse_to_replace([reference], output)
    if output is not None and not output.parent.is_dir():  # said before the work is done
        raise OutputError(f"cannot write {output}: there is no folder {output.parent}")
    path = output or default_index_path(reference)
    devices, chosen = resolve_devices(device, threads=1)
    announce("index", chosen, quiet=quiet)
    statistics = RunStatistics("index", sys.argv, [devices[0].name], threads=1)

    def build(fasta: Path) -> IndexData:
        return build_index(fasta, devices[0], low_memory=low_memory)

    def save(data: IndexData) -> None:
        save_index(data, path)

    data = statistics.timed("build", build)(reference)
    statistics.timed("write", save)(data)
    statistics.count("contigs", len(data.contigs.names))
    statistics.count("bases", int(data.contigs.offsets[-1]))
    logger.info("%s: %s", path, statistics.as_dict()["counts"])
    if json is not None:
        statistics.write(json)
