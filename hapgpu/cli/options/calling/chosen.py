"""Options of the engine, from the options of `call`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from hapgpu.calling.annotations.selection import selected_annotations
from hapgpu.calling.genotypes.contamination_file import read_fractions
from hapgpu.calling.options import (
    AnnotationOptions,
    AssemblyOptions,
    CallOptions,
    ContaminationOptions,
    EventOptions,
    VariantOptions,
)
from hapgpu.calling.ploidies import Ploidies
from hapgpu.cli.options.calling.alleles import AlleleOptions
from hapgpu.cli.options.calling.annotations import AnnotationChoice
from hapgpu.cli.options.calling.assembly import AssemblyChoice
from hapgpu.cli.options.calling.contamination import ContaminationChoice
from hapgpu.cli.options.calling.dragstr import DragstrOptions
from hapgpu.cli.options.calling.genotyping import GenotypingChoice
from hapgpu.cli.options.calling.gvcf import GenomicVcfOptions
from hapgpu.cli.options.calling.ploidy import PloidyOptions
from hapgpu.cli.options.calling.reads import ReadChoice, lowest_mapping_quality, read_options
from hapgpu.pairhmm.dragstr.parameters import read_parameters

logger = logging.getLogger(__name__)


class Choices(NamedTuple):
    """The groups of options that the engine needs, without its inputs."""

    reads: ReadChoice
    assembly: AssemblyChoice
    genotyping: GenotypingChoice
    ploidy: PloidyOptions
    alleles: AlleleOptions
    contamination: ContaminationChoice
    dragstr: DragstrOptions
    annotations: AnnotationChoice
    genomic: GenomicVcfOptions


def call_options(choices: Choices, reference: Path, max_record: int) -> CallOptions:
    """Return the options of the engine; read the small files that they name, and warn.

    Parameters
    ----------
    choices
        The options of `call`.
    reference
        The reference.
    max_record
        Bytes of each file, at most.

    Raises
    ------
    InputError
        A file cannot be read, or is malformed.
    UsageError
        Options contradict each other, or a name is unknown.
    """
    path = choices.dragstr.dragstr_params_path
    return CallOptions(
        assembly=_assembly(choices),
        events=EventOptions(
            max_mnp_distance=choices.alleles.max_mnp_distance,
            has_spanning_alleles=not choices.alleles.disable_spanning_event_genotyping,
        ),
        genotyping=_genotyping(choices, choices.ploidy.ploidies(reference, max_record)),
        genomic=choices.genomic.chosen(),
        annotations=_annotations(choices.annotations, is_genomic=choices.genomic.has_non_ref),
        pcr_model=choices.genotyping.pcr_model,
        min_mapping_quality=lowest_mapping_quality(choices.reads),
        max_reads_per_start=choices.reads.max_reads_per_start,
        contamination=_contamination(choices.contamination, max_record),
        reads=read_options(choices.reads),
        dragstr=None if path is None else read_parameters(path),
    )


def _assembly(choices: Choices) -> AssemblyOptions:
    given = choices.assembly
    return AssemblyOptions(
        kmer_sizes=tuple(sorted(set(given.kmer_sizes or AssemblyOptions().kmer_sizes))),
        min_pruning=given.min_pruning,
        max_haplotypes=given.max_haplotypes,
        min_base_quality=given.min_base_quality,
        use_soft_clipped_bases=not given.dont_use_soft_clipped_bases,
        lower_overlaps=not choices.reads.keep_overlap_qualities,
        is_strict=given.gatk_strict,
        recovers_all_branches=choices.alleles.recover_all_dangling_branches,
    )


def _genotyping(choices: Choices, ploidies: Ploidies) -> VariantOptions:
    given, has_non_ref = choices.genotyping, choices.genomic.has_non_ref
    return VariantOptions(
        heterozygosity=given.heterozygosity,
        indel_heterozygosity=given.indel_heterozygosity,
        heterozygosity_deviation=given.heterozygosity_deviation,
        min_confidence=0.0 if has_non_ref else given.min_confidence,
        max_alternate_alleles=given.max_alternate_alleles,
        ploidies=ploidies,
        max_genotypes=choices.ploidy.max_genotype_count,
        has_non_ref=has_non_ref,
    )


def _annotations(choice: AnnotationChoice, *, is_genomic: bool) -> AnnotationOptions:
    selected = selected_annotations(
        choice.switches(), is_genomic=is_genomic, has_filters=choice.hard_filters
    )
    for warning in selected.warnings:
        logger.warning(warning)
    return AnnotationOptions(
        classes=selected.classes,
        counts_discovered=choice.annotate_discovered,
        has_filters=choice.hard_filters,
    )


def _contamination(choice: ContaminationChoice, max_record: int) -> ContaminationOptions:
    path = choice.contamination_file
    return ContaminationOptions(
        fraction=choice.contamination,
        by_sample=() if path is None else read_fractions(path, max_record),
        is_for_annotations=choice.use_filtered_reads,
    )
