"""Options of `call` on given alleles, events of haplotypes, and dangling branches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.effects import DROP_ONE, NoEffect, needs
from hapgpu.cli.options.file_kinds import VARIANT_SITES
from hapgpu.cli.options.files import VARIANT_INDEXES, Read, Values

_ASSEMBLY: Final = "Assembly"
_GENOTYPING: Final = "Genotyping"
_MAX_DISTANCE: Final = 300
"""Bases of an active region."""

ALLELE_FILES: Final = (Read("alleles", VARIANT_INDEXES, expected=VARIANT_SITES),)


def _joins_in_genomic_vcf(values: Values) -> bool:
    is_genomic = values["gvcf"] or values.get("bp_resolution")
    return bool(is_genomic and values["max_mnp_distance"])


ALLELE_EFFECTS: Final = (
    needs("alleles", "--alleles", "force_call_filtered_alleles"),
    NoEffect(["max_mnp_distance"], _joins_in_genomic_vcf, f"in a genomic VCF; {DROP_ONE}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlleleOptions:
    """The options on given alleles, events of haplotypes, and dangling branches."""

    alleles: Annotated[
        Path | None,
        typer.Option(
            "--alleles",
            metavar="VCF",
            help="Call the alleles of this VCF or BCF, too, however improbable.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = None
    force_call_filtered_alleles: Annotated[
        bool,
        typer.Option(
            "--force-call-filtered-alleles",
            help="Call also the alleles of filtered records of --alleles.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = False
    max_mnp_distance: Annotated[
        int,
        typer.Option(
            "--max-mnp-distance",
            metavar="INT",
            min=0,
            max=_MAX_DISTANCE,
            help="Join substitutions of a haplotype at most INT positions apart; not with --gvcf.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = 0
    recover_all_dangling_branches: Annotated[
        bool,
        typer.Option(
            "--recover-all-dangling-branches",
            help="Recover also dangling branches of the graph that fork.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = False
    disable_spanning_event_genotyping: Annotated[
        bool,
        typer.Option(
            "--disable-spanning-event-genotyping",
            help="Write no allele * where a deletion spans another site.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = False
