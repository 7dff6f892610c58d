"""Calls from likelihoods: against the reference implementation, and edge cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import GenotypeCalls, SiteLikelihoods
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.calls.priors import log10_priors
from hapgpu.genotyping.options import Prior
from tests.genotyping.calls.reference import call_reference
from tests.haplotypes.made_records import made_sites
from tests.haplotypes.made_sites import batch_of, insertions, record_of


def calls(
    likelihoods: Sequence[Sequence[Sequence[float]]],
    alleles: Sequence[int],
    ploidy: int = 2,
    prior: Prior = Prior.FLAT,
) -> GenotypeCalls:
    """Call sites with these numbers of alleles, given genotype likelihoods by sample."""
    samples = len(likelihoods[0])
    rows = [row for site in likelihoods for row in site]
    records = [record_of(site, insertions(count - 1)) for site, count in enumerate(alleles)]
    site_likelihoods = SiteLikelihoods(
        np.ones((len(alleles), samples), dtype=np.int32),
        Ragged.from_lengths(
            np.zeros(sum(alleles) * samples, dtype=np.int32), np.repeat(alleles, samples)
        ),
        Ragged.from_lengths(
            np.array([value for row in rows for value in row], dtype=np.float64),
            [len(row) for row in rows],
        ),
    )
    batch = batch_of(records, [1] * len(alleles), [1] * len(alleles))
    return calls_of(site_likelihoods, batch, prior, ploidy)


@given(st.data(), st.sampled_from(Prior), st.integers(1, 4), st.integers(1, 3))
def test_calls_equal_the_reference_implementation(
    data: st.DataObject, prior: Prior, ploidy: int, samples: int
) -> None:
    alleles = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    scale = data.draw(st.sampled_from([1.0, 10.0, 200.0]))
    likelihoods = []
    for count in alleles:
        size = math.comb(count + ploidy - 1, ploidy)
        row = st.lists(st.floats(-scale, 0.0), min_size=size, max_size=size)
        likelihoods.append([data.draw(row) for _ in range(samples)])
    computed = calls(likelihoods, alleles, ploidy, prior)
    records = [record_of(site, insertions(count - 1)) for site, count in enumerate(alleles)]
    priors = log10_priors(made_sites(records), prior, ploidy)
    for site, count in enumerate(alleles):
        quality = 0.0
        for sample, row in enumerate(likelihoods[site]):
            expected = call_reference(row, priors[site].tolist(), count, ploidy)
            phreds = computed.phred_likelihoods[site * samples + sample]
            if computed.qualities[site, sample] == -1:
                assert max(expected.phred_likelihoods) < 0.5
                continue
            assert np.abs(phreds - expected.phred_likelihoods).max() <= 0.5 + 1e-9
            assert tuple(computed.genotypes[site, sample].tolist()) == expected.genotype
            assert is_rounded_down(int(computed.qualities[site, sample]), expected.quality)
            quality += expected.reference_quality
        if (computed.qualities[site] >= 0).any():
            assert computed.variant_qualities[site] == pytest.approx(quality, rel=1e-9, abs=1e-9)
        else:
            assert math.isnan(computed.variant_qualities[site])


def is_rounded_down(quality: int, exact: float) -> bool:
    """Return whether a value is the rounded one, if the exact value may be off by 1e-9."""
    return quality in {math.floor(min(exact + off, 99.0)) for off in (-1e-9, 1e-9)}


def test_the_first_of_equally_probable_genotypes_is_called() -> None:
    computed = calls([[[-3.0, -1.0, -1.0]]], [2])
    assert computed.genotypes.tolist() == [[[0, 1]]]
    assert computed.qualities.tolist() == [[2]]  # p = 1 / 2.01
    assert computed.phred_likelihoods[0].tolist() == [20, 0, 0]


@pytest.mark.parametrize(
    ("others", "quality"),
    [(-1.0, 7), (-2.0, 17), (-9.0, 86), (-10.4, 99), (-310.0, 99), (-323.0, 99), (-5000.0, 99)],
)
def test_quality_is_rounded_down_and_capped(others: float, quality: int) -> None:
    """Two other genotypes lower the quality by 3: 10 log10 2. Floats end below -308."""
    assert calls([[[others, 0.0, others]]], [2]).qualities.tolist() == [[quality]]


def test_quality_is_exact_for_p_near_1() -> None:
    """1 - 1e-20 is 1 in floating point."""
    computed = calls([[[0.0, -20.0, -40.0]]], [2])
    assert computed.variant_qualities[0] == pytest.approx(10.0 / math.log(10.0) * 1e-20, rel=1e-9)


def test_variant_quality_outside_the_range_of_floats() -> None:
    computed = calls([[[-5000.0, 0.0, -9.0], [-4000.0, -9.0, 0.0]]], [2])
    assert computed.variant_qualities[0] == pytest.approx(90_000.0, abs=1e-6)
    assert computed.phred_likelihoods[0].tolist() == [50_000, 0, 90]


def test_phred_likelihoods_do_not_depend_on_the_prior() -> None:
    """In the population prior, 0/0 is 6.9 times as probable as 0/1: Phred 8.4."""
    likelihoods = [[[-0.8, 0.0, -4.0]]]
    flat, population = (calls(likelihoods, [2], prior=prior) for prior in Prior)
    assert flat.phred_likelihoods[0].tolist() == [8, 0, 40]
    assert population.phred_likelihoods[0].tolist() == [8, 0, 40]
    assert flat.genotypes.tolist() == [[[0, 1]]]
    assert population.genotypes.tolist() == [[[0, 0]]]


@pytest.mark.parametrize("row", [[0.0, 0.0, 0.0], [-7.0, -7.0, -7.0], [-7.0, -7.04, -7.02]])
def test_no_call_if_reads_do_not_distinguish_genotypes(row: list[float]) -> None:
    computed = calls([[row]], [2])
    assert computed.genotypes.tolist() == [[[-1, -1]]]
    assert computed.qualities.tolist() == [[-1]]
    assert computed.phred_likelihoods.lengths.tolist() == [0]
    assert math.isnan(computed.variant_qualities[0])


def test_no_call_at_sites_without_alt_or_with_too_many_genotypes() -> None:
    computed = calls([[[0.0]], [[]], [[0.0, -3.0, -5.0, -9.0, -9.0]]], [1, 21, 2], ploidy=4)
    assert computed.genotypes.tolist() == [[[-1] * 4], [[-1] * 4], [[0] * 4]]
    assert computed.phred_likelihoods.lengths.tolist() == [0, 0, 5]
    assert np.isnan(computed.variant_qualities).tolist() == [True, True, False]


def test_samples_without_a_call_do_not_change_the_variant_quality() -> None:
    silent = [0.0, 0.0, 0.0]
    (alone,) = calls([[[-2.0, 0.0, -3.0]]], [2]).variant_qualities
    (among,) = calls([[silent, [-2.0, 0.0, -3.0], silent]], [2]).variant_qualities
    assert alone == among > 0.0


def test_no_sites() -> None:
    nothing = SiteLikelihoods(
        np.zeros((0, 2), dtype=np.int32),
        Ragged.from_lengths(np.zeros(0, dtype=np.int32), []),
        Ragged.from_lengths(np.zeros(0, dtype=np.float64), []),
    )
    computed = calls_of(nothing, batch_of([], [], []), Prior.FLAT, 2)
    assert computed.genotypes.shape == (0, 2, 2)
    assert computed.variant_qualities.size == len(computed.phred_likelihoods) == 0
