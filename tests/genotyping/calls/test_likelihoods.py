"""Genotype likelihoods: against the reference implementation, and edge cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import FragmentEvidence, SiteLikelihoods
from hapgpu.genotyping.calls.likelihoods import (
    NO_ALLELE,
    NOT_USED,
    site_likelihoods,
    supported_alleles,
)
from hapgpu.haplotypes.batches import LocusBatch, ShiftRanges
from tests.genotyping.calls.reference import (
    allele_depths_reference,
    allele_likelihoods_reference,
    genotype_likelihoods_reference,
    used_fragments_reference,
)
from tests.haplotypes.made_sites import SITE_DISTANCE, batch_of, insertions, record_of

FLANK = 100


class Fragment(NamedTuple):
    """Fragment of a sample at a locus, with the reference intervals that it covers."""

    locus: int
    sample: int
    cover: Sequence[tuple[int, int]]
    likelihoods: Sequence[float]


class Case(NamedTuple):
    """Numbers of alleles of the sites of each locus, and the alleles of its haplotypes.

    The shift range of a site is its base and `margins` bases on either side.
    """

    alleles: list[list[int]]
    carried: list[list[list[int]]]
    fragments: list[Fragment]
    samples: int
    ploidy: int
    margins: Sequence[tuple[int, int]] = ()

    def shift_range(self, site: int) -> range:
        left, right = self.margins[site] if self.margins else (0, 0)
        position = site * SITE_DISTANCE
        return range(position - left, position + 1 + right)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    alleles = draw(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), max_size=3))
    carried = [
        draw(
            st.lists(
                st.tuples(*(st.integers(0, count - 1) for count in sites)).map(list),
                min_size=1,
                max_size=5,
            )
        )
        for sites in alleles
    ]
    samples = draw(st.integers(1, 3))
    margin = st.sampled_from([0, 0, 2, 12])
    margins = st.just((0, 0)) | st.tuples(margin, margin)
    end = SITE_DISTANCE * sum(map(len, alleles))
    interval = st.tuples(st.integers(-5, end), st.integers(1, end + 5)).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    )
    fragments = [
        Fragment(
            locus,
            sample,
            draw(st.lists(interval, min_size=1, max_size=2)),
            draw(st.lists(st.floats(-4.5, 0.0), min_size=(n := len(carried[locus])), max_size=n)),
        )
        for locus in range(len(alleles))
        for sample in range(samples)
        for _ in range(draw(st.integers(0, 4)))
    ]
    return Case(
        *(alleles, carried, fragments, samples, draw(st.integers(1, 4))),
        # Shift ranges of several loci must not start before position 0.
        [
            (min(left, site * SITE_DISTANCE), right)
            for site in range(sum(map(len, alleles)))
            for left, right in [draw(margins)]
        ],
    )


def batch_with_shift_ranges(case: Case) -> LocusBatch:
    """Return the loci of a case; their flanks start before position 0."""
    counts = [count for sites in case.alleles for count in sites]
    batch = batch_of(
        [record_of(site, insertions(count - 1)) for site, count in enumerate(counts)],
        [len(sites) for sites in case.alleles],
        [len(haplotypes) for haplotypes in case.carried],
    )
    shift_ranges = np.array(
        [
            (shift_range.start, shift_range.stop)
            for shift_range in map(case.shift_range, range(len(counts)))
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    flanked = replace(
        batch.haplotypes, starts=batch.loci.starts - FLANK, ends=batch.loci.ends + FLANK
    )
    return replace(batch, shift_ranges=ShiftRanges(*shift_ranges.T.copy()), haplotypes=flanked)


def inputs_of(case: Case) -> tuple[FragmentEvidence, LocusBatch, Ragged]:
    """Return the evidence, loci and alleles of a case."""
    batch = batch_with_shift_ranges(case)
    table = rows_of_values([row for haplotypes in case.carried for row in haplotypes], np.int16)
    covers = [[k for pair in fragment.cover for k in pair] for fragment in case.fragments]
    evidence = FragmentEvidence(
        np.array([fragment.locus for fragment in case.fragments], dtype=np.int64),
        np.array([fragment.sample for fragment in case.fragments], dtype=np.int32),
        rows_of_values([fragment.likelihoods for fragment in case.fragments], np.float64),
        rows_of_values(covers, np.int64),
        np.ones(len(case.fragments), dtype=np.bool_),
    )
    return evidence, batch, table


def likelihoods_of(case: Case) -> SiteLikelihoods:
    return site_likelihoods(*inputs_of(case), case.samples, case.ploidy)


def rows_of_values(rows: Sequence[Sequence[float]], dtype: type[np.generic]) -> Ragged:
    values = np.array([value for row in rows for value in row], dtype=dtype)
    return Ragged.from_lengths(values, [len(row) for row in rows])


def fragments_counting(case: Case, locus: int, sample: int, site: int) -> NDArray[np.float64]:
    first = sum(len(sites) for sites in case.alleles[:locus])
    shift_ranges = [case.shift_range(first + k) for k in range(len(case.alleles[locus]))]
    shown = range(-FLANK, SITE_DISTANCE * (first + len(shift_ranges)) + FLANK)
    fragments = [k for k in case.fragments if (k.locus, k.sample) == (locus, sample)]
    parts = [[range(*part) for part in fragment.cover] for fragment in fragments]
    rows = [
        fragments[fragment].likelihoods
        for fragment in used_fragments_reference(parts, site - first, shift_ranges, shown)
    ]
    return np.array(rows).reshape(len(rows), len(case.carried[locus]))


@given(cases())
def test_likelihoods_equal_the_reference_implementation(case: Case) -> None:
    computed = likelihoods_of(case)
    site = 0
    for locus, counts in enumerate(case.alleles):
        for column, alleles in enumerate(counts):
            carried = [haplotype[column] for haplotype in case.carried[locus]]
            for sample in range(case.samples):
                row = site * case.samples + sample
                fragments = fragments_counting(case, locus, sample, site)
                assert computed.depths[site, sample] == len(fragments)
                if len(set(carried)) > 1 and len(fragments):
                    per_allele = allele_likelihoods_reference(fragments, carried, alleles)
                    genotypes = genotype_likelihoods_reference(per_allele, case.ploidy)
                    depths = allele_depths_reference(per_allele)
                else:
                    genotypes, depths = [0.0] * len(computed.genotypes[row]), [0] * alleles
                assert computed.genotypes[row] == pytest.approx(genotypes, rel=1e-9, abs=1e-9)
                assert computed.allele_depths[row].tolist() == depths
            site += 1


@given(cases())
def test_depths_count_the_supported_alleles(case: Case) -> None:
    computed = likelihoods_of(case)
    evidence, batch, table = inputs_of(case)
    supported = supported_alleles(evidence, batch, table, case.samples)
    depths = np.zeros_like(computed.depths)
    allele_depths = np.zeros_like(computed.allele_depths.data)
    for fragment, alleles in zip(case.fragments, supported, strict=True):
        first = batch.loci.site_offsets[fragment.locus]
        for site, allele in enumerate(alleles.tolist(), first):
            assert allele >= NOT_USED
            depths[site, fragment.sample] += allele != NOT_USED
            row = computed.allele_depths.offsets[site * case.samples + fragment.sample]
            allele_depths[row + max(allele, 0)] += allele not in {NOT_USED, NO_ALLELE}
    assert np.array_equal(depths, computed.depths)
    assert np.array_equal(allele_depths, computed.allele_depths.data)


def one_site(
    fragments: Sequence[Sequence[float]], carried: Sequence[int], alleles: int, ploidy: int = 2
) -> SiteLikelihoods:
    covering = [Fragment(0, 0, [(0, 1)], likelihoods) for likelihoods in fragments]
    return likelihoods_of(Case([[alleles]], [[[k] for k in carried]], covering, 1, ploidy))


@pytest.mark.parametrize(
    ("cover", "depth"),
    [
        ([(9, 10)], 0),
        ([(9, 11)], 1),
        ([(10, 11)], 1),
        ([(11, 12)], 0),
        ([(0, 10), (11, 20)], 0),
        ([(0, 2), (10, 12)], 1),
        ([(0, 12), (8, 20)], 1),
    ],
)
def test_a_fragment_counts_once_if_it_covers_the_site(
    cover: list[tuple[int, int]], depth: int
) -> None:
    fragment = Fragment(0, 0, cover, [-1.0, -2.0])
    computed = likelihoods_of(Case([[2, 2]], [[[0, 0], [1, 1]]], [fragment], 1, 2))
    assert computed.depths[1, 0] == depth
    assert computed.allele_depths[1].tolist() == [depth, 0]


@pytest.mark.parametrize(
    ("cover", "depth"), [((4, 17), 1), ((5, 17), 0), ((4, 16), 0), ((0, 10), 0), ((0, 30), 1)]
)
def test_a_fragment_is_used_if_it_spans_a_repeat(cover: tuple[int, int], depth: int) -> None:
    spanning = Fragment(0, 0, [(-20, 40)], [-3.0, -1.0])
    fragments = [spanning, Fragment(0, 0, [cover], [-1.0, -2.0])]
    carried = [[[0, 0], [1, 1]]]
    computed = likelihoods_of(Case([[2, 2]], carried, fragments, 1, 2, [(0, 0), (5, 5)]))
    assert computed.depths[1, 0] == 1 + depth
    assert computed.allele_depths[1].tolist() == [depth, 1]
    assert computed.genotypes[1][[0, 2]] == pytest.approx([-3.0 - depth, -1.0 - 2.0 * depth])


def test_a_repeat_that_no_fragment_spans() -> None:
    fragments = [Fragment(0, 0, [(start, start + 20)], [-1.0, -2.0]) for start in (-60, -25, 12)]
    computed = likelihoods_of(Case([[2]], [[[0], [1]]], fragments, 1, 2, [(30, 30)]))
    assert computed.depths.tolist() == [[2]]
    assert computed.genotypes[0][[0, 2]] == pytest.approx([-2.0, -4.0])


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_great_depth_neither_underflows_nor_loses_precision(ploidy: int) -> None:
    depth = 10_000
    computed = one_site([[-1.0, -5.5]] * depth, [0, 1], 2, ploidy)
    dose = np.arange(ploidy + 1) / ploidy
    expected = depth * (-1.0 + np.log10((1.0 - dose) + dose * 10.0**-4.5))
    assert computed.depths.tolist() == [[depth]]
    assert computed.allele_depths[0].tolist() == [depth, 0]
    assert computed.genotypes[0] == pytest.approx(expected, rel=1e-9)


def test_an_allele_that_no_haplotype_carries_is_unlikely() -> None:
    computed = one_site([[-1.0, -2.0]], [0, 1], 3)
    assert computed.genotypes[0][[0, 2, 5]] == pytest.approx([-1.0, -2.0, -5.5])


@pytest.mark.parametrize(("carried", "alleles"), [([0], 1), ([0, 0], 2), ([1, 1], 3)])
def test_reads_prefer_no_genotype_if_all_haplotypes_carry_one_allele(
    carried: list[int], alleles: int
) -> None:
    computed = one_site([[-1.0, -2.0][: len(carried)]] * 3, carried, alleles)
    assert computed.depths.tolist() == [[3]]
    assert not computed.allele_depths.data.any()
    assert not computed.genotypes.data.any()


@pytest.mark.parametrize(("difference", "depth"), [(0.19, 0), (0.2, 0), (0.21, 1)])
def test_a_fragment_supports_an_allele_that_is_clearly_better(
    difference: float, depth: int
) -> None:
    computed = one_site([[-difference, 0.0, -difference]], [0, 1, 0], 2)
    assert computed.allele_depths[0].tolist() == [0, depth]


def test_a_site_with_too_many_genotypes_has_depths_only() -> None:
    computed = one_site([[-1.0, -3.0]], [0, 20], 21, 4)
    assert computed.depths.tolist() == [[1]]
    assert computed.allele_depths[0].tolist() == [1] + [0] * 20
    assert computed.genotypes.lengths.tolist() == [0]


def test_twenty_alleles_of_four_chromosomes() -> None:
    carried = list(range(20))
    fragments = np.random.default_rng(5).uniform(-4.5, 0.0, (3, 20))
    computed = one_site(fragments.tolist(), carried, 20, 4)
    per_allele = allele_likelihoods_reference(fragments, carried, 20)
    expected = genotype_likelihoods_reference(per_allele, 4)
    assert computed.genotypes[0] == pytest.approx(expected, rel=1e-9)
