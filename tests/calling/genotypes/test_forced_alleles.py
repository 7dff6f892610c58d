"""Given alleles in records: GATK's recorded cases, and plain implementations of the rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.calling.batches import CallSites, ForcedEvents, VariantCalls
from hapgpu.calling.genotypes.calls import variants_of
from hapgpu.calling.genotypes.forced_alleles import called_given, with_forced_alleles
from hapgpu.calling.genotypes.kept_alleles import (
    KeptAlleles,
    kept_alleles,
    pseudo_counts,
)
from hapgpu.calling.options import VariantOptions
from tests.calling.genotypes.made_sites import (
    MadeSite,
    call_sites_of,
    genotypes_of,
    phreds_of,
    random_sites,
)
from tests.calling.genotypes.reference import frequencies_reference

STRICT = VariantOptions(min_confidence=1000.0)


def forced_sites(sites: Sequence[MadeSite], forced: Sequence[str]) -> CallSites:
    """Return sites whose ALTs are forced if they are given, by site."""
    is_forced = [
        allele in own.split(",") and number > 0
        for site, own in zip(sites, forced, strict=True)
        for number, allele in enumerate(site.alleles)
    ]
    return replace(call_sites_of(sites), is_forced=np.array(is_forced, dtype=np.bool_))


def kept_of(
    sites: Sequence[MadeSite], forced: Sequence[str], options: VariantOptions = STRICT
) -> KeptAlleles:
    samples = len(sites[0].samples)
    genotypes = genotypes_of([len(site.alleles) for site in sites])
    return kept_alleles(forced_sites(sites, forced), phreds_of(sites), samples, options, genotypes)


def site_of(start: int, alleles: str, phreds: str) -> MadeSite:
    return MadeSite(
        start, tuple(alleles.split(",")), (tuple(int(phred) for phred in phreds.split(",")),)
    )


RECORDED = [
    ("10004094 A,C,T 1854,157,0,1899,164,2091", "T", 1840.06, [2, 0]),
    ("10004193 G,T 945,0,776", "T", 0.0, [1]),
    ("10004769 TAAAACTATGC,T 1019,0,1471", "T", 1011.60, [1]),
    ("10004771 A,*,T 1028,0,1345,1163,1304,2853", "T", -0.0, [1, 0]),
    ("10006819 AAAAC,A 2568,176,0", "A", 2554.03, [2]),
    ("10006823 C,*,G 2567,175,0,2618,220,3157", "G", -0.0, [2, 0]),
    ("10008738 C,CGTTT,CGTTTGTTT 0,142,2074,142,2074,2074", "CGTTT,CGTTTGTTT", math.inf, [0, 0]),
]
"""expected.testForceCallingNotProducingNoCalls.gatk4.vcf: minimum QUAL 1000; `-0.0` where its QD is
-0.00. The allele of 10004193 is not given, but agrees with a given one nearby."""


def test_recorded_cases() -> None:
    sites = [site_of(int(row[0].split()[0]), *row[0].split()[1:]) for row in RECORDED]
    kept = kept_of(sites, [row[1] for row in RECORDED])
    assert kept.is_called.all()
    assert kept.is_kept.all()
    for k, (_, _, quality, counts) in enumerate(RECORDED):
        first = sum(len(site.alleles) for site in sites[:k])
        assert kept.qualities[k] == pytest.approx(quality, abs=0.005)
        if quality == 0.0:
            assert math.copysign(1.0, kept.qualities[k]) == math.copysign(1.0, quality)
        assert kept.counts[first + 1 : first + len(sites[k].alleles)].tolist() == counts


def test_without_forcing_the_recorded_sites_have_no_record() -> None:
    sites = [site_of(10, "G,T", "945,0,776"), site_of(20, "C,CGTTT", "0,142,2074")]
    assert not kept_of(sites, ["", ""]).is_called.any()


def test_more_alleles_than_are_considered() -> None:
    """A forced allele without support is considered beside the six that are."""
    alleles = "A,C,G,T,AC,AG,AT,AAC"
    genotypes = 8 * 9 // 2
    phreds = [300] * genotypes
    phreds[-1] = 400
    phreds[1], phreds[0] = 0, 600
    site = site_of(10, alleles, ",".join(map(str, phreds)))
    options = VariantOptions(max_alternate_alleles=2)
    kept = kept_of([site], ["AAC"], options)
    assert kept.is_kept.tolist() == [True, True, *[False] * 5, True]
    assert not kept_of([site], [""], options).is_kept[-1]


def log10_of_rest(value: float) -> float:
    return math.log10(-math.expm1(value * math.log(10.0))) if value < 0.0 else -math.inf


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("has_non_ref", [False, True])
def test_random_sites(seed: int, *, has_non_ref: bool) -> None:
    random = Random(seed)  # noqa: S311  (data for a test)
    samples = random.choice([1, 1, 3])
    sites = [s for s in random_sites(random, 40, samples) if len(s.alleles) <= 7]
    if has_non_ref:
        sites = [
            replace(s, alleles=(*s.alleles[:-1], "<NON_REF>"))
            for s in sites
            if s.alleles[-1] != "*" and len(s.alleles) > 2
        ]
    confidence = 0.0 if has_non_ref else random.choice([0.0, 30.0, 400.0])
    options = VariantOptions(min_confidence=confidence, has_non_ref=has_non_ref)
    forced = [
        ",".join(a for a in s.alleles[1:] if a[0] not in "*<" and random.random() < 0.4)
        for s in sites
    ]
    kept = kept_of(sites, forced, options)
    covered, first = -1, 0
    for k, site in enumerate(sites):
        own = [a in forced[k].split(",") for a in site.alleles]
        rows = slice(first, first + len(site.alleles))
        first = rows.stop
        if any(own):
            quality, wanted = expected_site(site, own, options, site.start <= covered)
            assert kept.is_called[k]
            assert kept.is_kept[rows].tolist() == wanted
            assert kept.qualities[k] == pytest.approx(quality, rel=1e-6, abs=1e-9)
        deleted = [
            len(site.alleles[0]) - (0 if allele == "<NON_REF>" else len(allele))
            for allele, chosen in zip(site.alleles, kept.is_kept[rows], strict=True)
            if chosen
        ]
        if kept.is_called[k] and max(deleted) > 0:
            covered = max(covered, site.start + max(deleted))


def expected_site(
    site: MadeSite,
    forced: list[bool],
    options: VariantOptions,
    is_covered: bool,
) -> tuple[float, list[bool]]:
    """Return QUAL and the alleles that are kept of a site with forced alleles."""
    prior = pseudo_counts(options)
    lengths = [0 if a == "<NON_REF>" else len(a) for a in site.alleles]
    priors = [prior.snp if length == lengths[0] else prior.indel for length in lengths]
    priors[0] = prior.reference
    spanned = site.alleles.index("*") if "*" in site.alleles else None
    found = frequencies_reference(site.samples, priors, spanned)
    wanted, is_variant = [True], False
    for k in range(1, len(site.alleles)):
        is_probable = found.log10_absent[k] + 1e-10 < -0.1 * options.min_confidence
        is_possible = is_covered or k != spanned
        is_variant |= is_probable and is_possible
        wanted.append((is_probable or forced[k] or options.has_non_ref) and is_possible)
    no_variant = found.quality / -10.0
    return (found.quality if is_variant else -10.0 * log10_of_rest(no_variant)), wanted


def forced_events(rows: Sequence[tuple[int, str, str, bool]]) -> ForcedEvents:
    """Return events of one region: position, REF, ALT, and whether they are given."""
    starts = np.array([row[0] for row in rows], dtype=np.int64)
    return ForcedEvents(
        np.array([0, len(rows)]),
        np.arange(len(rows)),
        starts,
        starts + np.array([len(row[1]) for row in rows], dtype=np.int64),
        Ragged.from_sequences([row[2] for row in rows]),
        np.array([row[3] for row in rows], dtype=np.bool_),
    )


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ((10, "A", "C", True), "C"),
        ((10, "A", "G", True), ""),
        ((99, "G", "C", True), "C"),  # another position, and another REF
        ((99, "G", "C", False), ""),
        ((10, "A", "C", False), "C"),
        ((10, "AT", "A", True), "AC"),
        ((10, "A", "AT", True), "ATTC"),
        ((10, "A", "AG", True), ""),
        ((10, "A", "CT", True), ""),
        ((10, "ATC", "CTG", True), ""),
        ((10, "AT", "CT", True), "CTC"),
    ],
)
def test_alleles_that_agree(event: tuple[int, str, str, bool], expected: str) -> None:
    """GATK's allelesAreConsistent, on REF ATC with ALTs CTC (A>C), AC (AT>A), ATTC (A>AT), *."""
    site = site_of(10, "ATC,CTC,AC,ATTC,*,<NON_REF>", ",".join(["0"] * 21))
    sites = with_forced_alleles(call_sites_of([site]), forced_events([event]))
    found = [a for a, is_one in zip(site.alleles, sites.is_forced, strict=True) if is_one]
    names = {"CTC": "C"}
    if expected == "CTC":
        names = {}
    assert ",".join(names.get(allele, allele) for allele in found) == expected


def called(sites: CallSites, made: Sequence[MadeSite]) -> VariantCalls:
    phreds = phreds_of(made)
    genotypes = genotypes_of(lengths_of(sites.allele_offsets).tolist())
    kept = kept_alleles(sites, phreds, 1, STRICT, genotypes)
    return variants_of(sites, phreds, kept, 1, genotypes)


def test_count_of_called_alleles() -> None:
    """An allele counts once, and with other events instead only if all are called."""
    made = [site_of(10, "A,C", "0,60,900"), site_of(12, "A,T", "0,60,900")]
    events = forced_events(
        [
            (10, "A", "C", True),
            (10, "ACA", "CCT", True),
            (10, "A", "C", False),
            (12, "A", "T", False),
        ]
    )
    events = replace(events, rows=np.array([0, 1, 1, 1]))
    sites = with_forced_alleles(call_sites_of(made), events)
    assert sites.is_forced.tolist() == [False, True, False, True]
    calls = called(sites, made)
    assert called_given(sites, calls, np.array([True, True]), events) == 2
    assert called_given(sites, calls, np.array([True, False]), events) == 1
    assert called_given(sites, calls, np.array([False, True]), events) == 0
    nothing = forced_events([])
    assert called_given(sites, calls, np.array([True, True]), nothing) == 0


def test_forced_alleles_of_other_regions_do_not_count() -> None:
    made = [site_of(10, "A,C", "0,60,900"), site_of(10, "A,C", "0,60,900")]
    sites = replace(call_sites_of(made), regions=np.array([0, 1]))
    events = replace(forced_events([(10, "A", "C", True)]), offsets=offsets_of([0, 1]))
    assert with_forced_alleles(sites, events).is_forced.tolist() == [False, False, False, True]
