"""Options of `call` on reads of other samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.effects import NoEffect
from hapgpu.cli.options.file_kinds import FRACTIONS
from hapgpu.cli.options.files import Read
from hapgpu.cli.options.numbers import parse_fraction

_GENOTYPING: Final = "Genotyping"

CONTAMINATION_FILES: Final = (Read("contamination_file", expected=FRACTIONS),)
CONTAMINATION_EFFECTS: Final = (
    NoEffect(
        ["use_filtered_reads"],
        lambda values: not values["contamination"] and values["contamination_file"] is None,
        "without --contamination; add it",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationChoice:
    """The options on contamination."""

    contamination: Annotated[
        float,
        typer.Option(
            "--contamination",
            "--contamination-fraction-to-filter",
            metavar="FRACTION",
            parser=parse_fraction,
            help="Contaminated fraction of the reads, to remove before genotyping; 0: none.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = 0.0
    contamination_file: Annotated[
        Path | None,
        typer.Option(
            "--contamination-file",
            "--contamination-fraction-per-sample-file",
            metavar="TSV",
            help="Contaminated fractions by sample: lines of SAMPLE, tab, FRACTION.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = None
    use_filtered_reads: Annotated[
        bool,
        typer.Option(
            "--use-filtered-reads-for-annotations",
            help="Annotate without the reads that --contamination removes.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = False
