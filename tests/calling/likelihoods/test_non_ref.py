"""Likelihoods of <NON_REF>."""

from __future__ import annotations

from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import CallSites, ReadsAtSites, VariantCalls
from hapgpu.calling.genotypes.site_reads import (
    reads_with_kept_non_ref,
    reads_with_non_ref,
    sites_with_non_ref,
)

NONE = np.empty(0, dtype=np.int64)


def made_sites(alleles: list[list[str]]) -> CallSites:
    texts = [allele for site in alleles for allele in site]
    offsets = np.cumsum([0, *map(len, alleles)])
    starts = np.arange(len(alleles)) * 10
    numbers = Ragged.from_lengths(np.empty(0, dtype=np.int16), np.zeros(len(alleles), dtype=int))
    return CallSites(starts * 0, starts, starts + 1, offsets, Ragged.from_sequences(texts), numbers)


def made_reads(likelihoods: list[list[list[float]]]) -> ReadsAtSites:
    rows = [row for site in likelihoods for row in site]
    offsets = np.cumsum([0, *map(len, likelihoods)])
    values = Ragged.from_lengths(
        np.array([value for row in rows for value in row], dtype=float), [len(row) for row in rows]
    )
    return ReadsAtSites(offsets, np.arange(len(rows)), values, np.zeros_like(offsets), NONE)


def expected_of(row: list[float], kept: list[int]) -> float:
    below = [row[k] for k in kept if row[k] < max(row)]
    return median(below) if below else max(row)


def test_alleles_of_sites() -> None:
    sites = sites_with_non_ref(made_sites([["A", "C"], ["AT", "A", "*"]]))
    texts = [sites.alleles[k].tobytes().decode() for k in range(len(sites.alleles))]
    assert texts == ["A", "C", "<NON_REF>", "AT", "A", "*", "<NON_REF>"]
    assert sites.allele_offsets.tolist() == [0, 3, 7]


rows = st.integers(2, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(-4, 0).map(float), min_size=size, max_size=size),
        min_size=1,
        max_size=4,
    )
)


@given(st.lists(rows, min_size=1, max_size=3), st.data())
def test_random_likelihoods(likelihoods: list[list[list[float]]], data: st.DataObject) -> None:
    plain = made_sites([["A"] * len(site[0]) for site in likelihoods])
    sites = sites_with_non_ref(plain)
    found = reads_with_non_ref(sites, made_reads(likelihoods))
    flat = [row for site in likelihoods for row in site]
    for k, row in enumerate(flat):
        assert found.likelihoods[k].tolist() == [*row, expected_of(row, list(range(len(row))))]
    kept = [
        [0, *sorted(data.draw(st.sets(st.integers(1, len(site[0]) - 1)))), len(site[0])]
        for site in likelihoods
    ]
    fewer = reads_with_kept_non_ref(sites, found, made_calls(kept))
    of_rows = [own for own, site in zip(kept, likelihoods, strict=True) for _ in site]
    for k, (row, own) in enumerate(zip(flat, of_rows, strict=True)):
        assert fewer.likelihoods[k].tolist() == [*row, expected_of(row, own[:-1])]


def made_calls(kept: list[list[int]]) -> VariantCalls:
    """Return records of all sites with these alleles of each."""
    numbers = np.array([allele for own in kept for allele in own], dtype=np.int16)
    empty = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    offsets = np.cumsum([0, *map(len, kept)])
    small = np.empty(0, dtype=np.int16)
    return VariantCalls(
        np.arange(len(kept)),
        NONE,
        offsets,
        empty,
        numbers,
        np.empty(0),
        small,
        small,
        empty,
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.int64),
    )
