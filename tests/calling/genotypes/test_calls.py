"""Alleles kept, QUAL and genotypes: rules of GATK, and the reference implementation."""

from __future__ import annotations

from random import Random

import pytest

from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.genotypes.kept_alleles import pseudo_counts
from hapgpu.calling.options import VariantOptions
from tests.calling.genotypes.made_sites import (
    MadeSite,
    random_sites,
    variants_at,
)
from tests.calling.genotypes.reference import SiteVariant, variant_reference

DEFAULTS = VariantOptions()


def calls(
    sites: list[MadeSite], samples: int = 1, options: VariantOptions = DEFAULTS
) -> VariantCalls:
    return variants_at(sites, samples, options)


def call(alleles: str, *phreds: str) -> VariantCalls:
    """Call one site, given PL of each sample."""
    rows = tuple(tuple(int(phred) for phred in row.split(",")) for row in phreds)
    return calls([MadeSite(10, tuple(alleles.split(",")), rows)], len(rows))


def alleles_of(variants: VariantCalls, record: int = 0) -> list[str]:
    rows = range(*variants.allele_offsets[record : record + 2])
    return [variants.alleles[row].tobytes().decode() for row in rows]


@pytest.mark.parametrize(
    ("alleles", "phreds", "quality", "genotype"),
    [
        ("C,T", "934,0,1248", 926.64, [0, 1]),
        ("T,G", "2833,240,0", 2819.06, [1, 1]),
        ("A,AAGGCT", "2339,156,0", 2325.03, [1, 1]),
        ("CACACACACACA,C,CCACACACACA", "1717,539,803,595,0,533", 1700.02, [1, 2]),
        ("A,G,AGGGAGG", "2406,645,532,697,0,574", 2389.06, [1, 2]),
    ],
)
def test_records_of_gatk(alleles: str, phreds: str, quality: float, genotype: list[int]) -> None:
    """Calls of GATK on 20:10,000,000-10,050,000."""
    variants = call(alleles, phreds)
    assert ",".join(alleles_of(variants)) == alleles
    assert variants.qualities.tolist() == pytest.approx([quality], abs=0.005)
    assert variants.genotypes.tolist() == [[genotype]]
    assert variants.genotype_qualities.tolist() == [[99]]
    assert ",".join(map(str, variants.phred_likelihoods[0])) == phreds
    assert variants.maximum_likelihood_counts.tolist() == [
        genotype.count(allele) for allele in range(len(alleles_of(variants)))
    ]


def test_qual_is_computed_before_alleles_are_removed() -> None:
    """C/C and C/G are as likely: G is not kept, but lowers QUAL."""
    both = call("A,C,G", "300,60,0,300,0,200")
    assert alleles_of(both) == ["A", "C"]
    assert both.phred_likelihoods[0].tolist() == [300, 60, 0]
    alone = call("A,C", "300,60,0")
    assert 0.1 < alone.qualities[0] - both.qualities[0] < 0.2


def test_a_site_below_the_confidence_has_no_record() -> None:
    assert len(call("A,C", "39,3,0")) == 0
    assert len(call("A,C", "45,6,0")) == 1


def test_alleles_lose_their_common_suffix() -> None:
    # 0/1 is best; genotypes with the second ALT are far worse.
    variants = call("AGG,AG,A", "300,0,400,700,700,700")
    assert alleles_of(variants) == ["AG", "A"]
    assert variants.site_alleles.tolist() == [0, 1]
    assert variants.phred_likelihoods[0].tolist() == [300, 0, 400]
    variants = call("AGG,*,CGG,A", "300,300,300,0,300,300,900,900,900,900")
    assert alleles_of(variants) == ["A", "C"]


def test_likelihoods_are_relative_to_the_best_that_is_left() -> None:
    """`*`, which no deletion explains, is in the best genotype."""
    variants = call("A,C,*", "500,60,90,400,0,420")
    assert alleles_of(variants) == ["A", "C"]
    assert variants.phred_likelihoods[0].tolist() == [440, 0, 30]
    assert variants.genotype_qualities.tolist() == [[30]]


def test_a_spanning_deletion_needs_an_earlier_record() -> None:
    deletion = "A" + "C" * 21
    for distance, alleles in ((1, "A,*,G"), (21, "A,*,G"), (22, "A,G"), (39, "A,G")):
        star = MadeSite(100 + distance, ("A", "*", "G"), ((900, 900, 900, 900, 0, 900),))
        for phreds, expected in (((300, 0, 300), alleles), ((0, 0, 0), "A,G")):
            variants = calls([MadeSite(100, (deletion, "A"), (phreds,)), star])
            assert ",".join(alleles_of(variants, len(variants) - 1)) == expected


def test_a_spanning_deletion_alone_has_no_record() -> None:
    deletion = MadeSite(100, ("AC", "A"), ((300, 0, 300),))
    assert len(calls([deletion, MadeSite(101, ("C", "*"), ((300, 0, 300),))])) == 1


def test_a_spanning_deletion_counts_as_one_base() -> None:
    """With a REF of several bases `*` is a deletion, for the prior and for later sites."""
    deletion = MadeSite(100, ("ACC", "A"), ((300, 0, 300),))
    star = MadeSite(102, ("CTTTT", "*", "G"), ((900, 900, 900, 900, 0, 900),))
    last = MadeSite(106, ("A", "*", "G"), ((900, 900, 900, 900, 0, 900),))
    variants = calls([deletion, star, last])
    assert [",".join(alleles_of(variants, k)) for k in (1, 2)] == ["CTTTT,*,G", "A,*,G"]


def test_no_call_instead_of_an_uncertain_reference() -> None:
    variants = call("A,C", "0,0,0", "400,0,400", "0,0,7", "5,0,0")
    assert variants.genotypes[0].tolist() == [[-1, -1], [0, 1], [-1, -1], [0, 1]]
    assert variants.genotype_qualities[0].tolist() == [0, 99, 0, 0]


def test_at_most_six_alternates() -> None:
    """Samples have 0/1 to 0/8, and 0/3 and 0/7 with less confidence."""
    alleles = ("A", *("A" + "C" * k for k in range(1, 9)))
    rows = []
    for allele in range(1, 9):
        row = [900] * 45
        row[0] = 200 if allele in {3, 7} else 500
        row[allele * (allele + 1) // 2] = 0  # 0 and the allele
        rows.append(tuple(row))
    variants = calls([MadeSite(5, alleles, tuple(rows))], 8)
    assert variants.site_alleles.tolist() == [0, 1, 2, 4, 5, 6, 8]
    assert variants.maximum_likelihood_counts.tolist()[1:] == [1] * 6
    two = VariantOptions(max_alternate_alleles=2)
    ties = calls([MadeSite(5, alleles, tuple(rows))], 8, two)
    assert ties.site_alleles.tolist() == [0, 1, 2]  # ties: in order


@pytest.mark.parametrize("seed", range(120))
def test_equal_to_the_reference_implementation(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    samples = random.choice([1, 1, 2, 4])
    sites = random_sites(random, 12, samples)
    options = VariantOptions(
        min_confidence=random.choice([30.0, 0.0, 100.0]),
        max_alternate_alleles=random.choice([6, 1, 3]),
    )
    variants = calls(sites, samples, options)
    record, covered = 0, -1
    for row, site in enumerate(sites):
        expected = variant_reference(
            site.alleles,
            site.samples,
            pseudo_counts(options),
            site.start <= covered,
            options.min_confidence,
            options.max_alternate_alleles,
        )
        if expected is None:
            assert row not in variants.sites
            continue
        assert variants.sites[record] == row
        assert variants.starts[record] == site.start
        check_record(variants, record, expected)
        shortest = min(len(site.alleles[k]) for k in expected.kept)
        if shortest < len(site.alleles[0]):
            covered = max(covered, site.start + len(site.alleles[0]) - shortest)
        record += 1
    assert record == len(variants)


def check_record(variants: VariantCalls, record: int, expected: SiteVariant) -> None:
    rows = slice(*variants.allele_offsets[record : record + 2])
    assert alleles_of(variants, record) == expected.alleles
    assert variants.site_alleles[rows].tolist() == expected.kept
    assert variants.maximum_likelihood_counts[rows].tolist() == expected.counts
    assert variants.qualities[record] == pytest.approx(expected.quality, rel=1e-9, abs=1e-9)
    samples = len(expected.phreds)
    first = record * samples
    computed = [variants.phred_likelihoods[first + k].tolist() for k in range(samples)]
    assert computed == expected.phreds
    genotypes = [tuple(row) if row[0] >= 0 else None for row in variants.genotypes[record].tolist()]
    assert genotypes == expected.genotypes
    assert variants.genotype_qualities[record].tolist() == expected.qualities
