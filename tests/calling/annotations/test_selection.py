"""Switches of annotations: groups, names, errors and warnings, by GATK's plugin descriptor."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.annotations.fields import (
    FORMAT_FIELDS,
    INFO_FIELDS,
    enabled_fields,
)
from hapgpu.calling.annotations.selection import (
    SUPPORTED,
    UNSUPPORTED,
    AnnotationSwitches,
    SelectedAnnotations,
    selected_annotations,
)
from hapgpu.calling.options import DEFAULT_ANNOTATIONS, AnnotationOptions
from hapgpu.errors import UsageError

STANDARD = {
    "BaseQualityRankSumTest",
    "ChromosomeCounts",
    "Coverage",
    "DepthPerAlleleBySample",
    "ExcessHet",
    "FisherStrand",
    "InbreedingCoeff",
    "MappingQualityRankSumTest",
    "QualByDepth",
    "RMSMappingQuality",
    "ReadPosRankSumTest",
    "StrandOddsRatio",
}
ALLELE_SPECIFIC = {
    "AS_BaseQualityRankSumTest",
    "AS_FisherStrand",
    "AS_InbreedingCoeff",
    "AS_MappingQualityRankSumTest",
    "AS_QualByDepth",
    "AS_RMSMappingQuality",
    "AS_ReadPosRankSumTest",
    "AS_StrandOddsRatio",
}
PLAIN_ONLY = {"ChromosomeCounts", "FisherStrand", "QualByDepth", "StrandOddsRatio"}
OTHERS = {
    "AlleleFraction",
    "ClippingRankSumTest",
    "LikelihoodRankSumTest",
    "MappingQualityZero",
    "StrandBiasBySample",
    "TandemRepeat",
}
DEFAULT = STANDARD | {"DepthPerSampleHC"}


def select(
    *added: str,
    groups: Sequence[str] = (),
    excluded: Sequence[str] = (),
    has_defaults: bool = True,
    has_all: bool = False,
    is_genomic: bool = False,
    has_filters: bool = False,
) -> SelectedAnnotations:
    switches = AnnotationSwitches(
        groups=groups,
        added=added,
        excluded=excluded,
        has_defaults=has_defaults,
        has_all=has_all,
    )
    return selected_annotations(switches, is_genomic=is_genomic, has_filters=has_filters)


def test_names_are_those_of_gatk() -> None:
    assert DEFAULT_ANNOTATIONS == DEFAULT
    assert SUPPORTED == DEFAULT | ALLELE_SPECIFIC | OTHERS
    assert not SUPPORTED & UNSUPPORTED


def test_defaults() -> None:
    assert select() == SelectedAnnotations(frozenset(DEFAULT), ())
    assert select(is_genomic=True) == SelectedAnnotations(frozenset(DEFAULT - PLAIN_ONLY), ())


@pytest.mark.parametrize("name", ["AS_StandardAnnotation", "AS_Standard"])
def test_the_allele_specific_group_adds_to_the_defaults(name: str) -> None:
    found = select(groups=[name], is_genomic=True)
    assert found == SelectedAnnotations(frozenset(DEFAULT - PLAIN_ONLY | ALLELE_SPECIFIC), ())


@pytest.mark.parametrize(
    "groups",
    [
        ["StandardAnnotation"],
        ["StandardHCAnnotation", "StandardAnnotation"],
        ["Standard", "StandardHC"],
        ["Standard", "StandardAnnotation"],
    ],
)
def test_default_groups_only_warn(groups: list[str]) -> None:
    found = select(groups=groups)
    assert found.classes == DEFAULT
    (warning,) = found.warnings
    assert warning.startswith("--annotation-group: no effect, already enabled: Standard")


@pytest.mark.parametrize(
    ("group", "expected"),
    [("Standard", STANDARD), ("StandardHC", {"DepthPerSampleHC"})],
)
def test_groups_without_the_defaults(group: str, expected: set[str]) -> None:
    found = select(groups=[group], has_defaults=False)
    assert found == SelectedAnnotations(frozenset(expected), ())


def test_nothing() -> None:
    assert select(has_defaults=False).classes == set()
    assert select("TandemRepeat", has_defaults=False).classes == {"TandemRepeat"}


def test_additions_and_exclusions() -> None:
    found = select("TandemRepeat", "StrandBiasBySample", excluded=["ExcessHet", "Coverage"])
    added = {"TandemRepeat", "StrandBiasBySample"}
    assert found.classes == (DEFAULT | added) - {"ExcessHet", "Coverage"}
    assert not found.warnings


def test_exclusion_from_a_group() -> None:
    found = select(groups=["AS_Standard"], excluded=["AS_QualByDepth"], is_genomic=True)
    assert found.classes == DEFAULT - PLAIN_ONLY | ALLELE_SPECIFIC - {"AS_QualByDepth"}


@pytest.mark.parametrize("name", ["TandemRepeat", "CountNs"])
def test_exclusion_of_what_is_off_warns(name: str) -> None:
    found = select(excluded=[name])
    assert found.classes == DEFAULT
    assert found.warnings == (f"--annotations-to-exclude: no effect, not enabled: {name}",)


def test_switches_without_an_effect_on_a_genomic_vcf() -> None:
    found = select("QualByDepth", excluded=["StrandBiasBySample"], is_genomic=True)
    assert found.classes == DEFAULT - PLAIN_ONLY
    assert found.warnings == (
        "--annotation: no effect on a genomic VCF: QualByDepth",
        "--annotations-to-exclude: no effect, always in a genomic VCF: StrandBiasBySample",
    )


ERRORS = [
    ({"groups": ["Nonsense"]}, "--annotation-group Nonsense: unknown group; use Standard"),
    ({"groups": ["StandardMutectAnnotation"]}, "StandardMutectAnnotation: not supported; use"),
    ({"groups": [""]}, "--annotation-group : unknown group"),
    ({"added": ["DP"]}, "--annotation DP: unknown annotation; give the name of GATK's class"),
    ({"added": ["tandemrepeat"]}, "--annotation tandemrepeat: unknown annotation"),
    ({"excluded": ["FS"]}, "--annotations-to-exclude FS: unknown annotation"),
    ({"added": ["Coverage"] * 2}, "--annotation Coverage: given 2 times; give it once"),
    ({"excluded": ["Coverage"] * 3}, "--annotations-to-exclude Coverage: given 3 times"),
    (
        {"added": ["Coverage"], "excluded": ["Coverage"]},
        "--annotation Coverage: also in --annotations-to-exclude; drop one of them",
    ),
    ({"added": ["CountNs"]}, "annotations not supported: CountNs; drop them"),
    ({"has_all": True}, "annotations not supported: AS_StrandBiasMutectAnnotation, AllelePseudo"),
    (
        {"groups": ["AS_Standard"]},
        "allele-specific annotations need a genomic VCF: AS_BaseQualityRankSumTest, .*; add --gvcf",
    ),
    ({"added": ["AS_QualByDepth"]}, "need a genomic VCF: AS_QualByDepth; add --gvcf"),
    (
        {"excluded": ["QualByDepth", "FisherStrand"], "has_filters": True},
        "--filter: needs FisherStrand, QualByDepth; do not exclude them",
    ),
]


@pytest.mark.parametrize(("switches", "message"), ERRORS)
def test_errors(switches: dict, message: str) -> None:
    added = switches.pop("added", ())
    with pytest.raises(UsageError, match=message):
        select(*added, **switches)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_unsupported_annotations_are_refused_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=f"annotations not supported: {name}; drop"):
        select(name)


def test_all_but_the_unsupported() -> None:
    found = select(has_all=True, excluded=sorted(UNSUPPORTED), is_genomic=True)
    assert found == SelectedAnnotations(frozenset(SUPPORTED - PLAIN_ONLY), ())
    plain = select(has_all=True, excluded=sorted(UNSUPPORTED | ALLELE_SPECIFIC))
    assert plain.classes == DEFAULT | OTHERS


NAMES = st.lists(st.sampled_from(sorted(SUPPORTED)), unique=True)


@given(NAMES, NAMES, st.booleans(), st.booleans())
def test_any_switches(
    added: list[str], excluded: list[str], has_defaults: bool, is_genomic: bool
) -> None:
    """Set algebra, of names without contradictions."""
    excluded = [name for name in excluded if name not in added]
    expected = ((DEFAULT if has_defaults else set()) | set(added)) - set(excluded)
    switches = {"excluded": excluded, "has_defaults": has_defaults, "is_genomic": is_genomic}
    if not is_genomic and expected & ALLELE_SPECIFIC:
        with pytest.raises(UsageError, match="need a genomic VCF"):
            select(*added, **switches)
        return
    found = select(*added, **switches)
    assert found.classes == (expected - PLAIN_ONLY if is_genomic else expected)


INFO = {
    "BaseQualityRankSumTest": ["BaseQRankSum"],
    "ChromosomeCounts": ["AC", "AF", "AN"],
    "Coverage": ["DP"],
    "ExcessHet": ["ExcessHet"],
    "FisherStrand": ["FS"],
    "InbreedingCoeff": ["InbreedingCoeff"],
    "MappingQualityRankSumTest": ["MQRankSum"],
    "QualByDepth": ["QD"],
    "RMSMappingQuality": ["MQ"],
    "ReadPosRankSumTest": ["ReadPosRankSum"],
    "StrandOddsRatio": ["SOR"],
    "ClippingRankSumTest": ["ClippingRankSum"],
    "LikelihoodRankSumTest": ["LikelihoodRankSum"],
    "MappingQualityZero": ["MQ0"],
    "TandemRepeat": ["RPA", "RU", "STR"],
}
RAW = {
    "RMSMappingQuality": ["RAW_MQandDP"],
    "InbreedingCoeff": [],
    "AS_BaseQualityRankSumTest": ["AS_RAW_BaseQRankSum"],
    "AS_FisherStrand": ["AS_SB_TABLE"],
    "AS_InbreedingCoeff": ["AS_InbreedingCoeff"],
    "AS_MappingQualityRankSumTest": ["AS_RAW_MQRankSum"],
    "AS_QualByDepth": ["AS_QD"],
    "AS_RMSMappingQuality": ["AS_RAW_MQ"],
    "AS_ReadPosRankSumTest": ["AS_RAW_ReadPosRankSum"],
    "AS_StrandOddsRatio": ["AS_SB_TABLE"],
}
FORMATS = {
    "AlleleFraction": "AF",
    "DepthPerAlleleBySample": "AD",
    "DepthPerSampleHC": "DP",
    "StrandBiasBySample": "SB",
}


@pytest.mark.parametrize("is_genomic", [False, True])
@pytest.mark.parametrize("name", sorted(SUPPORTED))
def test_the_fields_of_each_annotation(name: str, is_genomic: bool) -> None:
    options = AnnotationOptions(classes=frozenset({name}))
    fields = enabled_fields(options, is_genomic=is_genomic)
    raw = {**INFO, **RAW, **{key: [] for key in PLAIN_ONLY}}
    own = (raw if is_genomic else INFO).get(name, [])
    assert sorted(fields.info) == sorted(["MLEAC", "MLEAF", *own])
    formats = {FORMATS[name]} if name in FORMATS else set()
    assert set(fields.formats) == formats | ({"SB"} if is_genomic else set())


def test_the_number_of_discovered_alleles() -> None:
    fields = enabled_fields(AnnotationOptions(classes=frozenset(), counts_discovered=True))
    assert fields.info == ("MLEAC", "MLEAF", "NDA")


def test_fields_are_in_the_order_of_their_names() -> None:
    names = [field.name for field in INFO_FIELDS]
    assert names == sorted(names)
    assert list(FORMAT_FIELDS) == sorted(FORMAT_FIELDS)
