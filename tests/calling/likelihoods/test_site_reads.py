"""Reads at sites, and their likelihoods given alleles."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionLikelihoods, RegionReads
from hapgpu.calling.genotypes.site_reads import site_reads
from tests.calling.likelihoods.made_regions import cigars_of
from tests.calling.likelihoods.reference import allele_likelihoods_reference, is_at_site_reference


def reads_of(regions: list[list[tuple[int, int]]]) -> RegionReads:
    """Return reads with these starts and ends, by active region."""
    reads = [read for region in regions for read in region]
    ranges = np.array(reads, dtype=np.int64).reshape(-1, 2)
    rows = np.arange(len(reads))
    return RegionReads(
        offsets_of([len(region) for region in regions]),
        rows,
        np.zeros(rows.size, dtype=np.int32),
        rows * 0,
        rows * 0 + 1,
        ranges[:, 0].copy(),
        ranges[:, 1].copy(),
        cigars_of(["1M"] * rows.size),
        Ragged.from_lengths(np.zeros(rows.size, dtype=np.uint8), [1] * rows.size),
    )


def at_sites(
    sites: list[tuple[int, int, int, list[int]]],
    reads: list[list[tuple[int, int]]],
    likelihoods: list[list[float]],
    others: list[list[tuple[int, int]]],
) -> ReadsAtSites:
    """Return the reads at sites: active region, start, end, and the allele of each haplotype."""
    regions, starts, ends = (
        np.array([site[k] for site in sites], dtype=np.int64) for k in range(3)
    )
    counts = [max(site[3]) + 1 for site in sites]
    alleles = np.array([allele for site in sites for allele in site[3]], dtype=np.int16)
    made = reads_of(reads)
    values = np.array([value for row in likelihoods for value in row], dtype=np.float64)
    return site_reads(
        CallSites(
            regions,
            starts,
            ends,
            offsets_of(counts),
            Ragged.from_sequences(["A"] * sum(counts)),
            Ragged.from_lengths(alleles, [len(site[3]) for site in sites]),
        ),
        RegionLikelihoods(
            made,
            Ragged.from_lengths(values, [len(row) for row in likelihoods]),
            np.zeros(len(made), dtype=np.int64),
            np.zeros(len(made), dtype=np.bool_),
            reads_of(others),
        ),
    )


@pytest.mark.parametrize(
    ("read", "is_at"),
    [((90, 99), False), ((90, 100), True), ((105, 110), True), ((106, 110), False)],
)
def test_two_bases_beside_ref_count(read: tuple[int, int], is_at: bool) -> None:
    """REF is 1-based 102 to 104; reads that end at 100 or start at 106 overlap the margin."""
    site = (0, 101, 104, [0, 1])
    result = at_sites([site], [[read]], [[0.0, -1.0]], [[read]])
    assert result.offsets.tolist() == result.other_offsets.tolist() == [0, int(is_at)]


def test_an_allele_has_its_best_haplotype() -> None:
    sites = [(1, 10, 11, [0, 1, 1, 2]), (1, 12, 13, [0, 0, 0, 1])]
    result = at_sites(sites, [[], [(5, 20)]], [[-3.0, -4.5, -1.0, 0.0]], [[(5, 20)], []])
    assert [row.tolist() for row in result.likelihoods] == [[-3.0, -1.0, 0.0], [-1.0, 0.0]]
    assert result.reads.tolist() == [0, 0]
    assert not result.others.size


def test_no_sites() -> None:
    result = at_sites([], [[(5, 20)]], [[0.0]], [[]])
    assert result.offsets.tolist() == [0]
    assert not result.reads.size


@pytest.mark.parametrize("seed", range(40))
def test_equal_to_the_reference_implementation(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    haplotypes = [random.randint(2, 6) for _ in range(3)]
    reads, others = (
        [
            [(start := random.randint(0, 30), start + random.randint(0, 12)) for _ in range(9)]
            for _ in haplotypes
        ]
        for _ in range(2)
    )
    likelihoods = [
        [-random.choice([0.0, 0.2, 4.5]) for _ in range(haplotypes[region])]
        for region in range(3)
        for _ in range(9)
    ]
    sites = []
    for region in range(3):
        for start in sorted(random.sample(range(40), k=3)):
            alleles = [random.choice([-1, 0, 1, 2]) for _ in range(haplotypes[region] - 1)]
            sites.append((region, start, start + random.randint(1, 5), [*alleles, 1]))
    result = at_sites(sites, reads, likelihoods, others)
    for number, (region, start, end, carried) in enumerate(sites):
        rows = result.reads[slice(*result.offsets[number : number + 2])].tolist()
        assert rows == rows_at(reads[region], region, start, end)
        other_rows = result.others[slice(*result.other_offsets[number : number + 2])].tolist()
        assert other_rows == rows_at(others[region], region, start, end)
        for at, row in enumerate(rows):
            expected = allele_likelihoods_reference(likelihoods[row], carried, max(carried) + 1)
            assert result.likelihoods[result.offsets[number] + at].tolist() == expected


def rows_at(reads: list[tuple[int, int]], region: int, start: int, end: int) -> list[int]:
    """Return the rows, of nine reads per active region, that are at a site."""
    site = range(start, end)
    return [
        9 * region + k for k, read in enumerate(reads) if is_at_site_reference(range(*read), site)
    ]
