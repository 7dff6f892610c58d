"""Options of `call` on files of known variants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.file_kinds import KNOWN_VARIANTS
from hapgpu.cli.options.files import VARIANT_INDEXES, Read, in_all_runs

_KEY: Final = re.compile(r"[A-Za-z_][0-9A-Za-z_.]*")
_OUTPUT: Final = "Output"
_KEYS: Final = (
    "AC AF AN AS_InbreedingCoeff AS_QD AS_RAW_BaseQRankSum AS_RAW_MQ AS_RAW_MQRankSum"
    " AS_RAW_ReadPosRankSum AS_SB_TABLE BaseQRankSum ClippingRankSum DB DP DRAGstrInfo"
    " DRAGstrParams END ExcessHet FS"
    " InbreedingCoeff LikelihoodRankSum MLEAC MLEAF MQ MQ0 MQRankSum NDA QD RAW_MQandDP"
    " ReadPosRankSum RPA RU SOR STR"
)
"""Keys of INFO that `call` writes, with any option: no flag may have them."""


KNOWN_FILES: Final = (
    Read("dbsnp", VARIANT_INDEXES, expected=KNOWN_VARIANTS, by_index=in_all_runs),
    Read("comp", VARIANT_INDEXES, expected=KNOWN_VARIANTS, by_index=in_all_runs),
)


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
    """The options on known variants."""

    dbsnp: Annotated[
        Path | None,
        typer.Option(
            "--dbsnp",
            metavar="VCF",
            help="Write IDs of these variants, and the flag DB; indexed if compressed.",
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
