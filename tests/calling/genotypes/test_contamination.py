"""Removal of contaminating reads, compared with a plain implementation and cases of GATK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionReads
from hapgpu.calling.genotypes.contamination import (
    put_target_counts,
    sample_fractions,
    without_contamination,
)
from hapgpu.calling.options import ContaminationOptions
from tests.calling.genotypes.contamination_oracle import kept_reads, target_counts
from tests.calling.likelihoods.test_site_reads import reads_of

HET, HOM = (0, 50, 0, 50), (0, 100, 0, 0)
CASES = [
    ((0, 0, 0, 0), HET, HET),
    ((0, 0, 0, 0), HOM, HOM),
    # homozygous sample, other alleles
    ((5, 0, 0, 0), HOM, HOM),
    ((0, 0, 5, 0), HOM, HOM),
    ((0, 0, 0, 5), HOM, HOM),
    ((10, 0, 0, 0), HOM, HOM),
    ((0, 0, 10, 0), HOM, HOM),
    ((0, 0, 0, 10), HOM, HOM),
    # heterozygous sample, other alleles
    ((5, 0, 0, 0), HET, HET),
    ((0, 0, 5, 0), HET, HET),
    ((10, 0, 0, 0), HET, HET),
    ((0, 0, 10, 0), HET, HET),
    # homozygous sample, one allele of its own
    ((5, 5, 0, 0), HOM, (0, 105, 0, 0)),
    ((0, 5, 5, 0), HOM, (0, 105, 0, 0)),
    ((0, 5, 0, 5), HOM, (0, 105, 0, 0)),
    ((0, 10, 0, 0), HOM, (0, 110, 0, 0)),
    # heterozygous sample, alleles of its own
    ((5, 5, 0, 0), HET, HET),
    ((0, 5, 5, 0), HET, HET),
    ((0, 5, 0, 5), HET, (0, 55, 0, 55)),
    ((5, 0, 0, 5), HET, HET),
    ((0, 0, 5, 5), HET, HET),
    ((0, 10, 0, 0), HET, HET),
    ((0, 0, 0, 10), HET, HET),
]
"""AlleleBiasedDownsamplingUtilsUnitTest: added reads, reads of the sample, and what is kept."""


def targets_of(counts: tuple[int, ...], number: int) -> list[int]:
    """Return the compiled result."""
    targets, changed = np.empty((2, len(counts)), dtype=np.int64)
    put_target_counts(np.array(counts, dtype=np.int64), number, targets, changed)
    return targets.tolist()


@pytest.mark.parametrize(("added", "own", "kept"), CASES)
def test_unit_cases_of_gatk(
    added: tuple[int, ...], own: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    counts = tuple(map(sum, zip(added, own, strict=True)))
    assert targets_of(counts, 10) == target_counts(counts, 10) == list(kept)


@pytest.mark.parametrize(
    ("counts", "number", "kept"),
    [((20, 80), 10, [10, 80]), ((7,), 3, [7]), ((3, 3, 3), 9, [0, 3, 3])],
)
def test_few_alleles(counts: tuple[int, ...], number: int, kept: list[int]) -> None:
    assert targets_of(counts, number) == target_counts(counts, number) == kept


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6).map(tuple), st.integers(1, 60))
@settings(deadline=None, max_examples=300)
def test_targets_equal_the_plain_ones(counts: tuple[int, ...], number: int) -> None:
    assert targets_of(counts, number) == target_counts(counts, number)


def sites_of(widths: list[int]) -> CallSites:
    """Return sites with so many alleles."""
    none = np.zeros(len(widths), dtype=np.int64)
    alleles = Ragged.from_sequences(["A"] * sum(widths))
    return CallSites(none, none, none + 1, offsets_of(widths), alleles, alleles)


def removed(
    sites: list[list[tuple[int, list[float]]]], fractions: list[float], names: list[str]
) -> list[list[int]]:
    """Return the reads that are kept at each site, by (read, likelihoods); read k is named."""
    rows = [entry for site in sites for entry in site]
    reads: RegionReads = reads_of([[(0, 1)] * len(names)])
    reads.samples[:] = np.arange(len(names)) % len(fractions)
    values = [values for _, values in rows]
    at_sites = ReadsAtSites(
        offsets_of([len(site) for site in sites]),
        np.array([read for read, _ in rows], dtype=np.int64),
        Ragged.from_lengths(
            np.array([value for row in values for value in row], dtype=np.float64),
            [len(row) for row in values],
        ),
        offsets_of([0] * len(sites)),
        np.empty(0, dtype=np.int64),
    )
    widths = [len(site[0][1]) if site else 2 for site in sites]
    result = without_contamination(
        sites_of(widths), at_sites, reads, Ragged.from_sequences(names), np.array(fractions)
    )
    for row, read in enumerate(result.reads.tolist()):
        site = int(np.searchsorted(result.offsets, row, side="right")) - 1
        assert result.likelihoods[row].tolist() == dict(sites[site])[read]
    bounds = result.offsets.tolist()
    return [result.reads[bounds[k] : bounds[k + 1]].tolist() for k in range(len(sites))]


def order_of(names: list[str]) -> list[int]:
    """Return the rank of each name, from the reads that a site of one allele more loses."""
    ranks = [0] * len(names)
    left = list(range(len(names)))
    for rank in range(len(names)):
        if len(left) == 1:
            ranks[left[0]] = rank
            break
        # One read supports the other allele; of the most supported allele, none is removed.
        entries = [(read, [0.0, -4.0, -4.0]) for read in left]
        extra = [(read, [-4.0, 0.0, -4.0]) for read in range(len(names), 3 * len(names))]
        count = len(entries) + len(extra)
        padded = [*names, *(f"x{k}" for k in range(2 * len(names)))]
        kept = removed([entries + extra], [1.5 / count], padded)[0]
        gone = [read for read in left if read not in kept]
        assert len(gone) == 1
        ranks[gone[0]] = rank
        left.remove(gone[0])
    return ranks


READ_VALUES = st.sampled_from([0.0, -0.1, -0.2, -0.3, -4.5])


@st.composite
def made_sites(draw: st.DrawFn) -> tuple[list[list[tuple[int, list[float]]]], list[float], int]:
    reads = draw(st.integers(2, 9))
    sites = []
    for _ in range(draw(st.integers(1, 3))):
        width = draw(st.integers(2, 4))
        chosen = sorted(draw(st.sets(st.integers(0, reads - 1))))
        values = st.lists(READ_VALUES, min_size=width, max_size=width)
        sites.append([(read, draw(values)) for read in chosen])
    fractions = draw(
        st.lists(st.sampled_from([0.0, 0.2, 0.34, 0.5, 0.99, 1.0]), min_size=1, max_size=2)
    )
    return sites, fractions, reads


@given(made_sites())
@settings(deadline=None, max_examples=200)
def test_kept_reads_equal_the_plain_ones(
    made: tuple[list[list[tuple[int, list[float]]]], list[float], int],
) -> None:
    sites, fractions, reads = made
    names = [f"read{k}" for k in range(reads)]
    ranks = order_of(names)
    found = removed(sites, fractions, names)
    for site, kept in zip(sites, found, strict=True):
        rows = [read for read, _ in site]
        expected = kept_reads(
            [values for _, values in site],
            [read % len(fractions) for read in rows],
            [ranks[read] for read in rows],
            fractions,
        )
        assert kept == [read for read, stays in zip(rows, expected, strict=True) if stays]


def test_of_mates_the_first_goes_first() -> None:
    """Both have one name: the order of the reads decides."""
    entries = [(read, [0.0, -4.0] if read < 2 else [-4.0, 0.0]) for read in range(12)]
    kept = removed([entries], [0.09], ["pair", "pair", *(f"x{k}" for k in range(10))])
    assert kept == [list(range(1, 12))]


def test_a_fraction_of_1_removes_all_reads_of_the_sample() -> None:
    entries = [(read, [0.0, -0.1 * read]) for read in range(6)]
    assert removed([entries, []], [1.0, 0.0], list("abcdef")) == [[1, 3, 5], []]


def test_fractions_of_samples() -> None:
    options = ContaminationOptions(fraction=0.1, by_sample=(("b", 0.0), ("other", 0.5)))
    fractions = sample_fractions(options, ["a", "b"])
    assert fractions is not None
    assert fractions.tolist() == [0.1, 0.0]
    assert sample_fractions(options, ["b"]) is None
    assert sample_fractions(ContaminationOptions(), ["a", "b"]) is None
