"""PL from the likelihoods of reads given alleles."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import ReadsAtSites
from hapgpu.calling.genotypes.genotype_likelihoods import (
    log10_sum,
    log_sum_table,
    phred_likelihoods,
)
from tests.calling.genotypes.made_sites import genotypes_of
from tests.calling.genotypes.reference import phreds_reference


def phreds(sites: list[list[tuple[int, list[float]]]], alleles: list[int], samples: int) -> Ragged:
    """Return PL of sites, each with its reads: their sample, and the likelihood of each allele."""
    reads = [read for site in sites for read in site]
    values = np.array([value for _, row in reads for value in row], dtype=np.float64)
    none = np.zeros(len(sites) + 1, dtype=np.int64)
    order = np.arange(len(reads))[::-1]  # rows of reads in any order
    read_samples = np.array([sample for sample, _ in reads], dtype=np.int32)[::-1]
    at_sites = ReadsAtSites(
        offsets_of([len(site) for site in sites]),
        order.copy(),
        Ragged.from_lengths(values, [len(row) for _, row in reads]),
        none,
        np.empty(0, dtype=np.int64),
    )
    genotypes = genotypes_of(alleles)
    return phred_likelihoods(genotypes, at_sites, read_samples.copy(), samples)


def test_the_table_has_steps_of_a_ten_thousandth() -> None:
    table = log_sum_table()
    assert table.size == 80_001
    assert table[0] == math.log10(2.0)
    assert table[10_000] == pytest.approx(math.log10(1.1), rel=1e-12)


def test_logarithms_that_differ_by_8_or_more_are_not_added() -> None:
    """GATK's MathUtils.approximateLog10SumLog10."""
    table = log_sum_table()
    assert log10_sum(-8.0, 0.0, table) == log10_sum(0.0, -9.0, table) == 0.0
    assert log10_sum(0.0, -7.5, table) == pytest.approx(math.log10(1.0 + 10.0**-7.5), rel=1e-6)


def test_one_read_supports_alt() -> None:
    result = phreds([[(0, [-4.5, 0.0])]], [2], 1)
    # Homozygous ALT is best; heterozygous is log10(2) below, up to 10^-4.5.
    assert result[0].tolist() == [45, 3, 0]


def test_genotypes_without_reads_are_equal() -> None:
    assert [row.tolist() for row in phreds([[]], [3], 2)] == [[0] * 6] * 2
    assert len(phreds([], [], 3)) == 0


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_the_reference_implementation(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    samples = random.choice([1, 1, 2, 3])
    alleles = [random.choice([2, 2, 3, 7, 20]) for _ in range(random.randint(1, 5))]
    sites = []
    for count in alleles:
        reads = [
            (random.randrange(samples), [-random.choice([0, 4.5, random.uniform(0, 12)])] * 1)
            for _ in range(random.choice([0, 1, 40]))
        ]
        sites.append(
            [
                (sample, first + [-random.uniform(0.0, 12.0) for _ in range(count - 1)])
                for sample, first in reads
            ]
        )
    result = phreds(sites, alleles, samples)
    for row, computed in enumerate(result):
        site, sample = divmod(row, samples)
        values = [read for of, read in sites[site] if of == sample]
        assert computed.tolist() == phreds_reference(values, alleles[site])
