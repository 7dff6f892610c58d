"""Options of `call` on assembly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from hapgpu.calling.options import AssemblyOptions

_ASSEMBLY: Final = "Assembly"
_MAX_BASE_QUALITY: Final = 93
_MIN_KMER, _MAX_KMER = 5, 200
_MANY: Final = 10**6
_DEFAULT: Final = AssemblyOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyChoice:
    """The options on graphs and the bases that they are made of."""

    kmer_sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--kmer-size",
            metavar="INT",
            min=_MIN_KMER,
            max=_MAX_KMER,
            show_default=" ".join(map(str, _DEFAULT.kmer_sizes)),
            help="k-mer size of an assembly graph; repeatable, all are joined.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = None
    min_pruning: Annotated[
        int,
        typer.Option(
            "--min-pruning",
            metavar="INT",
            min=0,
            max=_MANY,
            help="Remove paths of the graph with fewer reads of a sample.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.min_pruning
    max_haplotypes: Annotated[
        int,
        typer.Option(
            "--max-haplotypes",
            "--max-num-haplotypes-in-population",
            metavar="INT",
            min=1,
            max=_MANY,
            help="Haplotypes per graph, at most: the most likely.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.max_haplotypes
    min_base_quality: Annotated[
        int,
        typer.Option(
            "--min-base-quality-score",
            metavar="PHRED",
            min=0,
            max=_MAX_BASE_QUALITY,
            help="Do not assemble bases of lower quality.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.min_base_quality
    dont_use_soft_clipped_bases: Annotated[
        bool,
        typer.Option(
            "--dont-use-soft-clipped-bases",
            help="Do not use soft-clipped bases.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = False
    gatk_strict: Annotated[
        bool,
        typer.Option(
            "--gatk-strict",
            help="Follow only GATK's rules, also where they lose long duplications and deletions.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = False
