"""Options of `call` on likelihoods, genotypes and QUAL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from hapgpu.calling.options import CallOptions, VariantOptions
from hapgpu.cli.options.common import pcr_model_option
from hapgpu.cli.options.numbers import parse_open_fraction, parse_phred
from hapgpu.pairhmm.options import PcrModel

_GENOTYPING: Final = "Genotyping"
_MAX_ALTERNATE_ALLELES: Final = 43
"""More alleles than 44 have more than 1024 diploid genotypes, the default of GATK."""
_DEFAULT: Final = VariantOptions()
_PCR_MODEL: Final = CallOptions().pcr_model


@dataclass(frozen=True, slots=True, kw_only=True)
class GenotypingChoice:
    """The options on the pair-HMM, priors, and records."""

    pcr_model: Annotated[PcrModel, pcr_model_option(_GENOTYPING)] = _PCR_MODEL
    min_confidence: Annotated[
        float,
        typer.Option(
            "--standard-min-confidence-threshold-for-calling",
            "--stand-call-conf",
            metavar="PHRED",
            parser=parse_phred,
            help="Do not write variants with QUAL below this.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.min_confidence
    heterozygosity: Annotated[
        float,
        typer.Option(
            "--heterozygosity",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Expected heterozygosity of SNPs.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.heterozygosity
    indel_heterozygosity: Annotated[
        float,
        typer.Option(
            "--indel-heterozygosity",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Expected heterozygosity of indels.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.indel_heterozygosity
    heterozygosity_deviation: Annotated[
        float,
        typer.Option(
            "--heterozygosity-stdev",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Standard deviation of both heterozygosities.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.heterozygosity_deviation
    max_alternate_alleles: Annotated[
        int,
        typer.Option(
            "--max-alternate-alleles",
            metavar="INT",
            min=1,
            max=_MAX_ALTERNATE_ALLELES,
            help="ALT alleles per record, at most.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.max_alternate_alleles
