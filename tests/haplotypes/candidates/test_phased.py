"""Phase groups against an enumeration of chromosomes; GT and PS against pysam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import Loci, PhaseGroups
from hapgpu.haplotypes.sites.phased import (
    option_counts,
    phase_groups_of_samples,
    phase_groups_of_sites,
)
from hapgpu.haplotypes.sites.sample_genotypes import Genotype, genotypes_of
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import open_vcf
from tests.haplotypes.made_records import made_sites

STEP = 10  # between sites: none overlap
TRUTH = ("NA12878", "HG002")


def record(start: int, reference: str, alternatives: Sequence[str], genotypes: str) -> VcfRecord:
    return VcfRecord("line 1", "chr1", start, reference, tuple(alternatives), (), genotypes)


def one_locus(records: Sequence[VcfRecord]) -> Loci:
    end = records[-1].start + len(records[-1].reference)
    return Loci(np.array([0, len(records)]), np.array([records[0].start]), np.array([end]))


def phase_groups_at_one_locus(records: Sequence[VcfRecord]) -> tuple[PhaseGroups, int]:
    genotypes = [genotypes_of(one, "calls.vcf") for one in records]
    return phase_groups_of_samples(made_sites(records), one_locus(records), genotypes)


def combinations(phase_groups: PhaseGroups) -> list[set[frozenset[int]]]:
    """Return the rows of ALT in the combinations of each set of groups."""
    rows = [frozenset(row.tolist()) for row in phase_groups.options]
    options = [rows[a:b] for a, b in pairwise(phase_groups.option_offsets.tolist())]
    groups = [options[a:b] for a, b in pairwise(phase_groups.group_offsets.tolist())]
    return [{frozenset().union(*chosen) for chosen in product(*of)} for of in groups]


# The alleles of each copy, None for unknown, and the phase set.
Call = tuple[tuple[int | None, ...], str | None]


def text_of(call: Call) -> str:
    alleles, phase_set = call
    separator = "/" if phase_set is None else "|"
    text = separator.join("." if allele is None else str(allele) for allele in alleles)
    return f"{text}:7:{phase_set}" if phase_set else f"{text}:7"


@st.composite
def records_with_genotypes(draw: st.DrawFn) -> tuple[list[VcfRecord], list[list[Call]]]:
    """Draw up to five sites, and the genotypes of the samples at each."""
    alternatives = st.lists(
        st.sampled_from(["C", "G", "AC", "*", "<DEL>"]), min_size=1, max_size=3, unique=True
    )
    samples = draw(st.integers(1, 3))
    records, calls = [], []
    for site in range(draw(st.integers(1, 5))):
        alleles = draw(alternatives)
        numbers = st.one_of(st.none(), *[st.integers(0, len(alleles))] * 5)
        copies = st.lists(numbers, min_size=1, max_size=3).map(tuple)
        phase = st.sampled_from([None, "", "9"])
        site_calls = draw(
            st.lists(st.tuples(copies, phase), min_size=samples, max_size=samples).map(
                lambda drawn: [(c, p if len(c) > 1 else None) for c, p in drawn]
            )
        )
        columns = "\t".join(["GT:GQ:PS", *map(text_of, site_calls)])
        records.append(record(STEP * site, "A", alleles, columns))
        calls.append(site_calls)
    return records, calls


def chromosomes(records: Sequence[VcfRecord], calls: Sequence[Call]) -> set[frozenset[int]]:
    """Return the rows of each chromosome that fits the genotypes of a sample."""
    first_rows = np.cumsum([0, *(1 + len(one.alternatives) for one in records)]).tolist()
    phased = {(p, len(a)) for a, p in calls if p is not None and None not in a}
    names = sorted(phased)
    found = set()
    for copies in product(*(range(ploidy) for _, ploidy in names)):
        copy_of = dict(zip(names, copies, strict=True))
        at_sites = []
        for one, (alleles, phase_set), row in zip(records, calls, first_rows, strict=False):
            if None in alleles:
                numbers = list(range(1 + len(one.alternatives)))
            elif phase_set is not None:
                numbers = [alleles[copy_of[phase_set, len(alleles)]] or 0]
            else:
                numbers = [allele or 0 for allele in alleles]
            at_sites.append(
                [{row + n} if n and one.alternatives[n - 1].isalpha() else set() for n in numbers]
            )
        found |= {frozenset().union(*rows) for rows in product(*at_sites)}
    return found


@given(drawn=records_with_genotypes())
def test_combinations_equal_the_chromosomes(
    drawn: tuple[list[VcfRecord], list[list[Call]]],
) -> None:
    records, calls = drawn
    phase_groups, conflicting_alleles = phase_groups_at_one_locus(records)
    expected = [chromosomes(records, sample_calls) for sample_calls in zip(*calls, strict=True)]
    found = combinations(phase_groups)
    assert all(one in expected for one in found)
    assert all(one in found for one in expected)
    assert conflicting_alleles == 0


@given(drawn=records_with_genotypes())
def test_option_counts_bound_the_combinations(
    drawn: tuple[list[VcfRecord], list[list[Call]]],
) -> None:
    records, calls = drawn
    genotypes = [genotypes_of(one, "calls.vcf") for one in records]
    counts = option_counts(made_sites(records), genotypes)
    for sample_calls in zip(*calls, strict=True):
        sets = {(p, len(a)) for a, p in sample_calls if p is not None}
        copies = prod(ploidy for _, ploidy in sets)
        assert len(chromosomes(records, sample_calls)) <= prod(counts.tolist()) * copies


@given(drawn=records_with_genotypes())
def test_without_samples_every_allele_is_an_option(
    drawn: tuple[list[VcfRecord], list[list[Call]]],
) -> None:
    records = [record(r.start, r.reference, r.alternatives, "") for r in drawn[0]]
    sites = made_sites(records)
    of_samples, _ = phase_groups_at_one_locus(records)
    assert combinations(of_samples) == combinations(
        phase_groups_of_sites(sites, one_locus(records))
    )
    genotypes = [genotypes_of(one, "calls.vcf") for one in records]
    assert np.array_equal(option_counts(sites, genotypes), option_counts(sites))


@pytest.mark.parametrize(
    ("genotypes", "expected"),
    [
        ("GT\t0/1", Genotype((0, 1), None)),
        ("GT\t2|0", Genotype((2, 0), "")),
        ("GT:PS\t2|0:77", Genotype((2, 0), "77")),
        ("GT:PS\t0/1:77", Genotype((0, 1), None)),
        ("GT:PS\t0|1", Genotype((0, 1), "")),
        ("PS:GT\t5:0|1", Genotype((0, 1), "5")),
        ("GT\t1", Genotype((1,), None)),
        ("GT\t0/1|1", Genotype((0, 1, 1), None)),
        ("GT\t|0|1", Genotype((0, 1), "")),
        ("GT\t/0|1", Genotype((0, 1), None)),
        ("GT\t.", Genotype((), None)),
        ("GT\t./1", Genotype((), None)),
        ("GT\t.|.", Genotype((), None)),
        ("GQ\t99", Genotype((), None)),
        ("", Genotype((), None)),
    ],
)
def test_ways_to_write_a_genotype(genotypes: str, expected: Genotype) -> None:
    assert genotypes_of(record(0, "A", ["C", "G"], genotypes), "calls.vcf") == (expected,)


@pytest.mark.parametrize("text", ["0/3", "x", "", "0/", "0\\1", "-1/0", "1" * 5000])
def test_invalid_genotypes_are_errors(text: str) -> None:
    with pytest.raises(InputError, match=r"calls\.vcf, line 1: GT '"):
        genotypes_of(record(0, "A", ["C", "G"], f"GT:GQ\t{text}:1"), "calls.vcf")


# Pairs of records, and whether both stay if they are on one copy.
PAIRS = {
    "deletion and SNV in it": ((0, "ACG", "A"), (1, "C", "T"), False),
    "deletions overlap": ((0, "ACG", "A"), (1, "CGT", "C"), False),
    "twice the same": ((0, "A", "T"), (0, "A", "T"), False),
    "two insertions": ((0, "A", "AT"), (0, "A", "AG"), False),
    "insertion, deletion": ((0, "A", "AT"), (0, "AC", "A"), False),
    "SNV and insertion after it": ((0, "A", "T"), (0, "A", "AG"), True),
    "insertion and SNV after it": ((0, "A", "AG"), (1, "C", "T"), True),
    "SNV and deletion after it": ((0, "A", "T"), (0, "AC", "A"), True),
    "neighbours": ((0, "A", "T"), (1, "C", "T"), True),
}


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("genotypes", [("1|0", "1|0"), ("1/1", "1/1"), ("1|0", "1/1")])
def test_the_first_of_conflicting_alleles_stays(case: str, genotypes: tuple[str, str]) -> None:
    *pair, both_stay = PAIRS[case]
    records = [
        record(start, reference, [alternative], f"GT\t{text}")
        for (start, reference, alternative), text in zip(pair, genotypes, strict=True)
    ]
    phase_groups, conflicting_alleles = phase_groups_at_one_locus(records)
    (found,) = combinations(phase_groups)
    first_copy = frozenset({1, 3} if both_stay else {1})
    assert first_copy in found
    assert conflicting_alleles == (not both_stay)


def test_samples_with_equal_genotypes_share_a_set() -> None:
    records = [
        record(0, "A", ["C"], "GT\t0|1\t0|1\t1|1"),
        record(9, "G", ["T"], "GT\t0|1\t0|1\t0|0"),
    ]
    phase_groups, _ = phase_groups_at_one_locus(records)
    assert combinations(phase_groups) == [{frozenset(), frozenset({1, 3})}, {frozenset({1})}]


def real_genotypes(path: Path) -> Iterator[tuple[tuple[Genotype, ...], pysam.VariantRecord]]:
    with open_vcf(path) as source, pysam.VariantFile(str(path)) as oracle:
        for ours, theirs in zip(source.records(), oracle, strict=True):
            yield genotypes_of(ours, str(path)), theirs


@pytest.mark.parametrize("sample", TRUTH)
def test_real_genotypes_as_pysam_reads_them(data_dir: Path, sample: str) -> None:
    path = data_dir / "illumina_na12878" / f"{sample}.truth.dev.vcf.gz"
    seen = 0
    for genotypes, theirs in real_genotypes(path):
        for genotype, call in zip(genotypes, theirs.samples.values(), strict=True):
            assert genotype.alleles == call["GT"]
            is_set = call.phased and call.get("PS") is not None
            assert genotype.phase_set == (
                str(call["PS"]) if is_set else "" if call.phased else None
            )
            seen += 1
    assert seen > 100
