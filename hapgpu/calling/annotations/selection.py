"""Selection of annotations by GATK's switches: names, groups, errors and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hapgpu.calling.annotations.fields import (
    FORMAT_OF_CLASSES,
    GENOMIC_INFO_OF_CLASSES,
    INFO_OF_CLASSES,
)
from hapgpu.calling.options import DEFAULT_ANNOTATIONS
from hapgpu.errors import UsageError

GROUP_OPTION: Final = "--annotation-group"
ADD_OPTION: Final = "--annotation"
EXCLUDE_OPTION: Final = "--annotations-to-exclude"
ALL_OPTION: Final = "--enable-all-annotations"
NO_DEFAULTS_OPTION: Final = "--disable-tool-default-annotations"

SUPPORTED: Final = frozenset({*INFO_OF_CLASSES, *GENOMIC_INFO_OF_CLASSES, *FORMAT_OF_CLASSES})
"""GATK's annotations that are computed."""
UNSUPPORTED: Final = frozenset(
    {
        "AS_StrandBiasMutectAnnotation",
        "AllelePseudoDepth",
        "AssemblyComplexity",
        "BaseQuality",
        "BaseQualityHistogram",
        "CountNs",
        "CycleSkipStatus",
        "FragmentDepthPerAlleleBySample",
        "FragmentLength",
        "GcContent",
        "GenotypeSummaries",
        "HaplotypeFilteringAnnotation",
        "HmerIndelLength",
        "HmerIndelNuc",
        "HmerMotifs",
        "IndelClassify",
        "IndelLength",
        "MappingQuality",
        "OrientationBiasReadCounts",
        "OriginalAlignment",
        "PossibleDeNovo",
        "RawGtCount",
        "ReadPosition",
        "ReferenceBases",
        "SampleList",
        "TransmittedSingleton",
        "UniqueAltReadCount",
        "VariantType",
    }
)
"""GATK's other annotations, for Mutect, flow-based reads, pedigrees and research."""

_STANDARD: Final = "StandardAnnotation"
_STANDARD_CALLER: Final = "StandardHCAnnotation"
_CALLER_CLASSES: Final = frozenset({"DepthPerSampleHC"})
GROUPS: Final[Mapping[str, frozenset[str]]] = {
    _STANDARD: DEFAULT_ANNOTATIONS - _CALLER_CLASSES,
    _STANDARD_CALLER: _CALLER_CLASSES,
    "AS_StandardAnnotation": frozenset(
        name for name in GENOMIC_INFO_OF_CLASSES if name.startswith("AS_")
    ),
}
"""The members of GATK's groups."""
_SHORT_FORMS: Final = {
    "Standard": _STANDARD,
    "StandardHC": _STANDARD_CALLER,
    "AS_Standard": "AS_StandardAnnotation",
}
_UNSUPPORTED_GROUPS: Final = frozenset(
    {
        "AlleleSpecificAnnotation",
        "GenotypeAnnotation",
        "InfoFieldAnnotation",
        "JumboGenotypeAnnotation",
        "JumboInfoAnnotation",
        "ReducibleAnnotation",
        "StandardFlowBasedAnnotation",
        "StandardMutectAnnotation",
        "VariantAnnotation",
    }
)
_ONLY_PLAIN: Final = frozenset(
    {"ChromosomeCounts", "FisherStrand", "QualByDepth", "StrandOddsRatio"}
)
"""Annotations that a genomic VCF never has."""
FILTER_CLASSES: Final = frozenset(
    {
        "FisherStrand",
        "MappingQualityRankSumTest",
        "QualByDepth",
        "RMSMappingQuality",
        "ReadPosRankSumTest",
        "StrandOddsRatio",
    }
)
"""The annotations that the thresholds of `--filter` need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationSwitches:
    """Switches of annotations, as a command line has them.

    Attributes
    ----------
    groups
        Names of groups that are added.
    added, excluded
        Names of annotations.
    has_defaults
        Whether the annotations of HaplotypeCaller are enabled before others are added.
    has_all
        Whether all annotations of GATK are added.
    """

    groups: Sequence[str] = ()
    added: Sequence[str] = ()
    excluded: Sequence[str] = ()
    has_defaults: bool = True
    has_all: bool = False


@dataclass(frozen=True, slots=True)
class SelectedAnnotations:
    """Result of the selection.

    Attributes
    ----------
    classes
        The enabled annotations.
    warnings
        Sentences about switches without an effect.
    """

    classes: frozenset[str]
    warnings: tuple[str, ...]


def selected_annotations(
    switches: AnnotationSwitches, *, is_genomic: bool, has_filters: bool = False
) -> SelectedAnnotations:
    """Resolve switches as GATK's GATKAnnotationPluginDescriptor does.

    Groups and annotations add to the defaults; exclusions come last.

    Parameters
    ----------
    switches
        The switches.
    is_genomic
        Whether the output is a genomic VCF.
    has_filters
        Whether thresholds need some annotations.

    Raises
    ------
    UsageError
        A name is unknown, not supported, or given twice; an annotation is allele-specific, but the
        output is no genomic VCF; or a threshold needs an annotation that is not enabled.
    """
    _check_names(switches)
    groups = [_SHORT_FORMS.get(name, name) for name in switches.groups]
    classes = set(DEFAULT_ANNOTATIONS if switches.has_defaults else ())
    if switches.has_all:
        classes |= SUPPORTED | UNSUPPORTED
    for group in groups:
        classes |= GROUPS[group]
    classes |= set(switches.added)
    always = {"StrandBiasBySample"} if is_genomic else set()
    off = sorted(set(switches.excluded) - classes - always)
    classes -= set(switches.excluded)
    _check_classes(classes, is_genomic=is_genomic)
    if has_filters and (missing := sorted(FILTER_CLASSES - classes)):
        raise UsageError(f"--filter: needs {', '.join(missing)}; do not exclude them")
    return SelectedAnnotations(
        frozenset(classes - _ONLY_PLAIN if is_genomic else classes),
        _warnings(switches, groups, off, is_genomic=is_genomic),
    )


def _check_names(switches: AnnotationSwitches) -> None:
    for name in switches.groups:
        group = _SHORT_FORMS.get(name, name)
        if group in _UNSUPPORTED_GROUPS:
            raise UsageError(f"{GROUP_OPTION} {name}: not supported; use {', '.join(GROUPS)}")
        if group not in GROUPS:
            raise UsageError(f"{GROUP_OPTION} {name}: unknown group; use {', '.join(GROUPS)}")
    for option, names in (
        (ADD_OPTION, switches.added),
        (EXCLUDE_OPTION, switches.excluded),
    ):
        for name, count in Counter(names).items():
            if name not in SUPPORTED | UNSUPPORTED:
                raise UsageError(
                    f"{option} {name}: unknown annotation; give the name of GATK's class, such as "
                    "TandemRepeat"
                )
            if count > 1:
                raise UsageError(f"{option} {name}: given {count} times; give it once")
    for name in switches.added:
        if name in switches.excluded:
            raise UsageError(f"{ADD_OPTION} {name}: also in {EXCLUDE_OPTION}; drop one of them")


def _check_classes(classes: set[str], *, is_genomic: bool) -> None:
    unsupported = sorted(classes & UNSUPPORTED)
    if unsupported:
        raise UsageError(
            f"annotations not supported: {', '.join(unsupported)}; drop them, or exclude them by "
            f"{EXCLUDE_OPTION}"
        )
    specific = sorted(name for name in classes if name.startswith("AS_"))
    if specific and not is_genomic:
        raise UsageError(
            f"allele-specific annotations need a genomic VCF: {', '.join(specific)}; add --gvcf"
        )


def _warnings(
    switches: AnnotationSwitches, groups: Sequence[str], off: Sequence[str], *, is_genomic: bool
) -> tuple[str, ...]:
    """Return sentences about groups that are on, exclusions that are off, and others."""
    found = []
    default = sorted({_STANDARD, _STANDARD_CALLER} & set(groups))
    if default and switches.has_defaults:
        found.append(f"{GROUP_OPTION}: no effect, already enabled: {', '.join(default)}")
    if off:
        found.append(f"{EXCLUDE_OPTION}: no effect, not enabled: {', '.join(off)}")
    without = sorted(_ONLY_PLAIN & set(switches.added))
    if without and is_genomic:
        found.append(f"{ADD_OPTION}: no effect on a genomic VCF: {', '.join(without)}")
    if "StrandBiasBySample" in switches.excluded and is_genomic:
        found.append(f"{EXCLUDE_OPTION}: no effect, always in a genomic VCF: StrandBiasBySample")
    return tuple(found)
