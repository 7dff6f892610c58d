"""Genotypes of any ploidy: likelihoods, QUAL, kept alleles and calls, against brute force."""

from __future__ import annotations

from math import comb
from random import Random

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import ReadsAtSites
from hapgpu.calling.genotypes.allele_frequencies import NO_ALLELE, estimate, new_work
from hapgpu.calling.genotypes.genotype_likelihoods import phred_likelihoods
from hapgpu.calling.genotypes.genotype_tables import most_alleles
from hapgpu.calling.genotypes.kept_alleles import pseudo_counts
from hapgpu.calling.options import VariantOptions
from tests.calling.genotypes.made_sites import (
    MadeSite,
    genotypes_of,
    random_alleles,
    random_phreds,
    variants_at,
)
from tests.calling.ploidy import brute_force

DEFAULTS = VariantOptions()


def reads_at(sites: list[list[tuple[int, list[float]]]]) -> tuple[ReadsAtSites, list[int]]:
    """Return reads, and the sample of each."""
    reads = [read for site in sites for read in site]
    none = np.zeros(len(sites) + 1, dtype=np.int64)
    values = np.array([value for _, row in reads for value in row], dtype=np.float64)
    made = ReadsAtSites(
        offsets_of([len(site) for site in sites]),
        np.arange(len(reads)),
        Ragged.from_lengths(values, [len(row) for _, row in reads]),
        none,
        np.empty(0, dtype=np.int64),
    )
    return made, [sample for sample, _ in reads]


@pytest.mark.parametrize("seed", range(40))
def test_likelihoods_of_sites_of_several_ploidies(seed: int) -> None:
    """Sums of two alleles are by GATK's table of steps of 1e-4, so PL may differ by 1."""
    random = Random(seed)  # noqa: S311  (the same data on every run)
    samples, count = random.choice([1, 2, 3]), random.randint(1, 5)
    alleles = [random.randint(1, 4) for _ in range(count)]
    ploidies = [random.randint(1, 6) for _ in range(count)]
    sites = [
        [
            (random.randrange(samples), [random.choice([0.0, -0.3, -4.5]) for _ in range(number)])
            for _ in range(random.choice([0, 1, 9, 40]))
        ]
        for number in alleles
    ]
    reads, read_samples = reads_at(sites)
    found = phred_likelihoods(
        genotypes_of(alleles, ploidies), reads, np.array(read_samples, dtype=np.int32), samples
    )
    rows = iter(range(len(found)))
    for site, number, ploidy in zip(sites, alleles, ploidies, strict=True):
        for sample in range(samples):
            own = [values for of, values in site if of == sample]
            exact = brute_force.log10_likelihoods(own, number, ploidy)
            best = max(exact.values())
            expected = [10.0 * (best - value) for value in exact.values()]
            assert found[next(rows)].tolist() == pytest.approx(expected, abs=0.6)


def test_a_pool_of_three_alleles() -> None:
    reads, samples = reads_at([[(0, [0.0, -4.5, -4.5]), (0, [-4.5, 0.0, -4.5])] * 40])
    found = phred_likelihoods(genotypes_of([3], [20]), reads, np.array(samples, dtype=np.int32), 1)
    assert found[0].size == comb(22, 20)
    assert brute_force.genotypes(3, 20)[int(found[0].argmin())] == (0,) * 10 + (1,) * 10


@pytest.mark.parametrize("ploidy", range(1, 6))
@pytest.mark.parametrize("seed", range(12))
def test_frequencies_by_all_orders_of_the_copies(ploidy: int, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    alleles = random.randint(2, 4)
    size = comb(alleles + ploidy - 1, ploidy)
    rows = [random_phreds(random, size) for _ in range(random.choice([1, 1, 3]))]
    priors = [10.0, *random.choices([0.01, 0.00125, 1.0], k=alleles - 1)]
    spanned = random.choice([None, random.randint(1, alleles - 1)])
    expected = brute_force.frequencies_of(rows, priors, ploidy, spanned)
    genotypes = genotypes_of([alleles], [ploidy])
    work = new_work(len(rows), alleles, size)
    work.phreds[:], work.priors[:] = rows, priors
    row = NO_ALLELE if spanned is None else spanned
    copies = genotypes.ploidies[0]
    quality = -10.0 * estimate(work, len(rows), alleles, row, genotypes.tables, copies)
    # A float64 sum to 1 has the probability of no variant to 1e-16 only.
    assert quality == pytest.approx(expected.quality, rel=1e-9, abs=1e-9)
    assert work.absent.tolist() == pytest.approx(expected.absent, rel=1e-9, abs=1e-9)
    assert work.counts.tolist() == pytest.approx(expected.counts, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_records_of_sites_of_several_ploidies(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    samples = random.choice([1, 1, 2])
    sites, ploidies = [], []
    for start in range(100, 600, 100):  # no deletion reaches the next
        ploidy, alleles = random.randint(1, 5), random_alleles(random)[:4]
        size = comb(len(alleles) + ploidy - 1, ploidy)
        rows = tuple(random_phreds(random, size) for _ in range(samples))
        sites.append(MadeSite(start, alleles, rows))
        ploidies.append(ploidy)
    options = VariantOptions(max_alternate_alleles=2)
    found = variants_at(sites, samples, options, ploidies)
    expected = [
        (number, record)
        for number, (site, ploidy) in enumerate(zip(sites, ploidies, strict=True))
        if (record := plain_record(site, ploidy, options)) is not None
    ]
    assert found.sites.tolist() == [number for number, _ in expected]
    for row, (number, (quality, kept, counts, calls)) in enumerate(expected):
        own = slice(*found.allele_offsets[row : row + 2])
        assert found.site_alleles[own].tolist() == kept
        assert found.maximum_likelihood_counts[own].tolist() == counts
        assert found.qualities[row] == pytest.approx(quality, rel=1e-9)
        assert found.ploidies[row] == ploidies[number]
        assert found.genotype_qualities[row].tolist() == [call.quality for call in calls]
        for sample, call in enumerate(calls):
            assert found.phred_likelihoods[row * samples + sample].tolist() == call.phreds
            genotype = found.genotypes[row, sample].tolist()
            padding = [-2] * (len(genotype) - ploidies[number])
            assert genotype == [*(call.genotype or [-1] * ploidies[number]), *padding]


def plain_record(
    site: MadeSite, ploidy: int, options: VariantOptions
) -> tuple[float, list[int], list[int], list[brute_force.Call]] | None:
    """Return QUAL, kept alleles, MLEAC and the calls of a site, or None without a record."""
    alleles, most = len(site.alleles), options.max_alternate_alleles
    numbers = list(brute_force.considered_of(site.samples, alleles, ploidy, most))
    subset = [brute_force.call_of(row, alleles, ploidy, numbers).phreds for row in site.samples]
    weights = pseudo_counts(options)
    length = len(site.alleles[0])
    priors = [weights.snp if len(site.alleles[k]) == length else weights.indel for k in numbers]
    priors[0] = weights.reference
    spanned = [row for row, k in enumerate(numbers) if site.alleles[k] == "*"]
    result = brute_force.frequencies_of(subset, priors, ploidy, spanned[0] if spanned else None)
    kept = [
        k
        for row, k in enumerate(numbers)
        if row == 0 or (result.absent[row] + 1e-10 < -3.0 and site.alleles[k] != "*")
    ]
    if len(kept) == 1 or result.quality < options.min_confidence:
        return None
    counts = [int(result.counts[numbers.index(k)] + 0.5) for k in kept]
    calls = [brute_force.call_of(row, alleles, ploidy, kept) for row in site.samples]
    return result.quality, kept, counts, calls


@pytest.mark.parametrize(
    ("alleles", "phreds", "quality", "genotype", "gq", "counts"),
    [
        ("T,G", "1484,22,0,1221", 1473.99, "0/1/1", 22, [2]),
        ("G,GA", "2469,381,141,0", 2453.32, "1/1/1", 99, [3]),
        ("C,T", "1340,0,14,1319", 1334.05, "0/0/1", 14, [1]),
        ("G,A", "1567,66,0,37,1130", 1559.26, "0/0/1/1", 37, [2]),
        ("G,A", "1883,105,3,0,948", 1874.21, "0/1/1/1", 3, [2]),  # MLEAC is not AC
        ("C,A", "2033,0", 2023.04, "1", 99, [1]),
        ("G,GA", "3694,0", 3684.01, "1", 99, [1]),
        ("T,C", "188,0", 178.04, "1", 99, [1]),
        (
            "T,A,G",
            "698,386,347,327,364,354,43,6,36,308,0,12,285,26,320",
            684.25,
            "0/1/2/2",
            6,
            [1, 2],
        ),
    ],
)
def test_records_of_gatk(
    alleles: str, phreds: str, quality: float, genotype: str, gq: int, counts: list[int]
) -> None:
    """Records of expected.testPloidyRegions.vcf, and of ploidy 4 with 15 genotypes at most."""
    row = tuple(map(int, phreds.split(",")))
    ploidy = genotype.count("/") + 1
    site = MadeSite(10, tuple(alleles.split(",")), (row,))
    found = variants_at([site], 1, DEFAULTS, [ploidy])
    assert found.qualities[0] == pytest.approx(quality, abs=0.005)
    called = [allele for allele in found.genotypes[0, 0].tolist() if allele >= 0]
    assert "/".join(map(str, called)) == genotype
    assert found.genotype_qualities[0, 0] == gq
    assert found.phred_likelihoods[0].tolist() == list(row)
    assert found.maximum_likelihood_counts.tolist()[1:] == counts


@pytest.mark.parametrize(("alleles", "cost"), [("A,C", 9.96), ("A,AC", 9.99)])
def test_haploid_call_needs_pl_40(alleles: str, cost: float) -> None:
    """QUAL is PL[0] less the prior."""
    for phred, count in ((39, 0), (40, 1), (500, 1)):
        site = MadeSite(10, tuple(alleles.split(",")), ((phred, 0),))
        found = variants_at([site], 1, DEFAULTS, [1])
        assert len(found) == count
        if count and phred == 500:
            assert found.qualities[0] == pytest.approx(phred - cost, abs=0.005)


def test_no_call_of_any_ploidy() -> None:
    """A sample without information beside one with a variant."""
    for ploidy in (1, 2, 3, 5):
        other = (*[900] * ploidy, 0)
        site = MadeSite(10, ("A", "C"), ((0,) * (ploidy + 1), other))
        found = variants_at([site], 2, DEFAULTS, [ploidy])
        assert found.genotypes[0, :, :ploidy].tolist() == [[-1] * ploidy, [1] * ploidy]
        assert found.genotype_qualities.tolist() == [[0, 99]]


def test_most_alleles_of_the_default_number_of_genotypes() -> None:
    ploidies = [1, 2, 3, 4, 5, 6, 10, 20, 1023, 1024]
    found = most_alleles(np.array(ploidies), 1024)
    assert found.tolist() == [1024, 44, 17, 11, 8, 7, 5, 3, 2, 1]
    assert most_alleles(np.array([4, 4]), 15).tolist() == [3, 3]
    assert most_alleles(np.empty(0, dtype=np.int64), 15).dtype == np.int64
