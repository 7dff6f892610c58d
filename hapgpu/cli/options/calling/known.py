"""Options of `call` on contamination and on files of known variants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.numbers import parse_fraction

_KEY: Final = re.compile(r"[A-Za-z_][0-9A-Za-z_.]*")
_GENOTYPING: Final = "Genotyping"
_OUTPUT: Final = "Output"
_KEYS: Final = (
    "AC AF AN AS_InbreedingCoeff AS_QD AS_RAW_BaseQRankSum AS_RAW_MQ AS_RAW_MQRankSum"
    " AS_RAW_ReadPosRankSum AS_SB_TABLE BaseQRankSum ClippingRankSum DB DP END ExcessHet FS"
    " InbreedingCoeff LikelihoodRankSum MLEAC MLEAF MQ MQ0 MQRankSum NDA QD RAW_MQandDP"
    " ReadPosRankSum RPA RU SOR STR"
)
"""Keys of INFO that `call` writes, with any option: no flag may have them."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file with a name, on the command line NAME=FILE; its text is that of the path."""

    name: str
    path: Path

    def __str__(self) -> str:
        return str(self.path)


def parse_named_file(text: str | NamedFile) -> NamedFile:
    """Parse NAME=FILE, where NAME becomes a flag of INFO.

    Raises
    ------
    typer.BadParameter
        One of both is missing, or VCF does not allow the name or has it for another field.
    """
    if isinstance(text, NamedFile):
        return text
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise typer.BadParameter(f"'{text}': must be NAME=FILE")
    if not _KEY.fullmatch(name):
        raise typer.BadParameter(
            f"'{name}': must be letters, digits, _ and ., and not start with a digit"
        )
    if name in _KEYS.split():
        raise typer.BadParameter(f"'{name}': is another field of INFO; give another name")
    return NamedFile(name, Path(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """The options on contamination, and on known variants."""

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
    dbsnp: Annotated[
        Path | None,
        typer.Option(
            "--dbsnp",
            metavar="VCF",
            help="Write IDs of these variants, bgzipped and indexed, and the flag DB.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    comp: Annotated[
        list[NamedFile] | None,
        typer.Option(
            "--comp",
            metavar="NAME=VCF",
            parser=parse_named_file,
            help="Set the flag NAME for variants that are in VCF; repeatable.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
