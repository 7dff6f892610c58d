"""Option of the DRAGstr parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.file_kinds import DRAGSTR
from hapgpu.cli.options.files import Read

DRAGSTR_FILES: Final = (Read("dragstr_params_path", expected=DRAGSTR),)


@dataclass(frozen=True, slots=True, kw_only=True)
class DragstrOptions:
    """Gap penalties by repeats."""

    dragstr_params_path: Annotated[
        Path | None,
        typer.Option(
            "--dragstr-params-path",
            metavar="FILE",
            help="Gap penalties by the repeats of reads, instead of --pcr-model: DRAGstr file.",
            rich_help_panel="Genotyping",
        ),
    ] = None
