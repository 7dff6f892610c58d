"""Options of `call` for genomic VCF: records of all positions, in blocks or one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final

import typer

from hapgpu.calling.options import BANDS, MAX_QUALITY, GenomicOptions
from hapgpu.cli.options.effects import NoEffect, contradicts
from hapgpu.errors import UsageError

_OUTPUT: Final = "Output"
_BANDS: Final = "--gvcf-gq-bands"

GENOMIC_EFFECTS: Final = (
    contradicts("bp_resolution", "--bp-resolution", "gvcf", "min_confidence"),
    contradicts("gvcf", "--gvcf", "min_confidence"),
    NoEffect(
        ["floor_blocks"],
        lambda values: not (values["gvcf"] or values["bp_resolution"]),
        "without --gvcf; add it",
    ),
)
"""Bands, and no phases, are accepted in all runs, as by GATK: pipelines give them to each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenomicVcfOptions:
    """The options of genomic VCF."""

    gvcf: Annotated[
        bool,
        typer.Option(
            "--gvcf",
            help="Write a genomic VCF of one sample, with reference blocks. GATK: -ERC GVCF.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    bp_resolution: Annotated[
        bool,
        typer.Option(
            "--bp-resolution",
            help="Write a genomic VCF with a record per position. GATK: -ERC BP_RESOLUTION.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    gvcf_gq_bands: Annotated[
        list[int] | None,
        typer.Option(
            _BANDS,
            metavar="INT",
            show_default="1 to 60, 70, 80, 90, 99",
            help="Upper bound of a GQ band of reference blocks, exclusive; repeatable, rising.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    floor_blocks: Annotated[
        bool,
        typer.Option(
            "--floor-blocks",
            help="Write the lower bound of the band as GQ of blocks, without PL and MIN_DP.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    do_not_run_physical_phasing: Annotated[
        bool,
        typer.Option(
            "--do-not-run-physical-phasing",
            help="Write no phases (PGT, PID, PS) in a genomic VCF.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False

    @property
    def has_non_ref(self) -> bool:
        """Whether the output is a genomic VCF."""
        return self.gvcf or self.bp_resolution

    def chosen(self) -> GenomicOptions:
        """Return the options of the engine; bands have an effect only with `--gvcf`.

        Raises
        ------
        UsageError
            The bands do not rise, or are not from 1 to 100.
        """
        bands = tuple(self.gvcf_gq_bands or BANDS)
        if self.gvcf:
            _check_bands(bands)
        return GenomicOptions(
            bands=bands if self.gvcf else BANDS,
            has_floors=self.floor_blocks,
            is_per_position=self.bp_resolution,
            has_phases=not self.do_not_run_physical_phasing,
        )


def _check_bands(bands: Sequence[int]) -> None:
    for band in bands:
        if not 1 <= band <= MAX_QUALITY + 1:
            raise UsageError(f"{_BANDS} {band}: not from 1 to {MAX_QUALITY + 1}; correct it")
    for low, high in pairwise(bands):
        if high <= low:
            raise UsageError(f"{_BANDS} {high}: after {low}; give rising bounds, each once")
