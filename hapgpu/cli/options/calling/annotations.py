"""Options of `call` on INFO, FORMAT and FILTER."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from hapgpu.calling.annotations.selection import AnnotationSwitches
from hapgpu.cli.options.effects import NoEffect

_PANEL: Final = "Annotations"

ANNOTATION_EFFECTS: Final = (
    NoEffect(
        ["hard_filters"],
        lambda values: values["gvcf"] or values["bp_resolution"],
        "on a genomic VCF: its records are not final; filter the VCF that GenotypeGVCFs makes",
    ),
)
"""GATK's thresholds are for genotyped VCFs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationChoice:
    """The options that select INFO and FORMAT fields, and filters."""

    annotation_groups: Annotated[
        list[str] | None,
        typer.Option(
            "--annotation-group",
            metavar="GROUP",
            help="Add a group of annotations, such as AS_StandardAnnotation; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    added_annotations: Annotated[
        list[str] | None,
        typer.Option(
            "--annotation",
            metavar="CLASS",
            help="Add an annotation by GATK's name, such as TandemRepeat; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    excluded_annotations: Annotated[
        list[str] | None,
        typer.Option(
            "--annotations-to-exclude",
            metavar="CLASS",
            help="Leave out an annotation by GATK's name; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    disable_default_annotations: Annotated[
        bool,
        typer.Option(
            "--disable-tool-default-annotations",
            help="Start from no annotations; others add to them.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    enable_all_annotations: Annotated[
        bool,
        typer.Option(
            "--enable-all-annotations",
            help="Add all annotations of GATK; exclude those not supported.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    annotate_discovered: Annotated[
        bool,
        typer.Option(
            "--annotate-with-num-discovered-alleles",
            help="Write NDA to INFO: the ALT alleles found at the site.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    hard_filters: Annotated[
        bool,
        typer.Option(
            "--filter",
            help="Set FILTER by GATK's published thresholds, such as QD2; PASS if none applies.",
            rich_help_panel=_PANEL,
        ),
    ] = False

    def switches(self) -> AnnotationSwitches:
        """Return the switches of annotations."""
        return AnnotationSwitches(
            groups=self.annotation_groups or (),
            added=self.added_annotations or (),
            excluded=self.excluded_annotations or (),
            has_defaults=not self.disable_default_annotations,
            has_all=self.enable_all_annotations,
        )
