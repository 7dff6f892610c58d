"""Called haplotypes: which they are, and their hash codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import (
    ActiveRegions,
    CallSites,
    Events,
    RegionHaplotypes,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.output.called_haplotypes import are_called, haplotype_records, hash_codes
from hapgpu.cigar.encoding import cigar_strings, parse_cigar
from tests.calling.made_calls import joined, likelihood_calls

SITES = [("A G", [0, 1, 1]), ("A C *", [0, 2, 1]), ("A T", [1, 0])]
"""Alleles of the site, and the allele of each haplotype: two sites of region 0, one of region 1."""


def trimmed_regions() -> TrimmedRegions:
    bases = Ragged.from_sequences(["ACGTA", "ACTTA", "AC", "GGG", "GTG"])
    cigars = ["5M", "5M", "1M3D1M", "3M", "3M"]
    starts = np.array([100, 200])
    haplotypes = RegionHaplotypes(
        np.array([0, 3, 5]),
        bases,
        joined([parse_cigar(text) for text in cigars], np.uint32),
        np.array([True, False, False, True, False]),
        np.zeros(5),
    )
    nothing = joined([np.empty(0)] * 5, np.uint8)
    events = Events(np.zeros(6, np.int64), starts[:0], starts[:0], nothing)
    regions = ActiveRegions(starts + 2, starts + 3, starts, starts + 5)
    return TrimmedRegions(np.arange(2), regions, haplotypes, events)


def call_sites() -> CallSites:
    alleles = [text.split() for text, _ in SITES]
    starts = np.array([102, 103, 202])
    return CallSites(
        np.array([0, 0, 1]),
        starts,
        starts + 1,
        offsets_of([len(names) for names in alleles]),
        Ragged.from_sequences(name for names in alleles for name in names),
        joined([np.array(numbers) for _, numbers in SITES], np.int16),
    )


def calls_at(records: list[tuple[int, list[int]]]) -> VariantCalls:
    """Return records of sites, with the numbers of their alleles."""
    return replace(
        likelihood_calls([[[0]]], [1]),
        starts=np.zeros(len(records), dtype=np.int64),
        sites=np.array([site for site, _ in records], dtype=np.int64),
        allele_offsets=offsets_of([len(numbers) for _, numbers in records]),
        site_alleles=np.array([n for _, numbers in records for n in numbers], dtype=np.int16),
    )


@pytest.mark.parametrize(
    ("records", "rows", "expected"),
    [
        ([(0, [0, 1])], [True], [0, 1, 2]),
        ([(1, [0, 1])], [True], [0, 2]),
        ([(1, [0, 2])], [True], [0, 1]),
        ([(1, [0, 2, 3])], [True], [0, 1]),  # an allele of no haplotype, as <NON_REF>
        ([(1, [0, 2]), (2, [0, 1])], [True, False], [0, 1]),
        ([(1, [0, 2]), (2, [0, 1])], [False, True], [3, 4]),
        ([(0, [0, 1])], [False], []),
        ([], [], []),
    ],
)
def test_haplotypes_with_an_allele_of_a_record(
    records: list[tuple[int, list[int]]], rows: list[bool], expected: list[int]
) -> None:
    mask = np.array(rows, dtype=np.bool_)
    found = are_called(calls_at(records), mask, call_sites(), trimmed_regions())
    assert np.flatnonzero(found).tolist() == expected


def test_a_haplotype_whose_allele_is_not_kept_at_the_site() -> None:
    sites = call_sites()
    sites.haplotype_alleles.data[2] = -1
    found = are_called(calls_at([(0, [0, 1])]), np.ones(1, np.bool_), sites, trimmed_regions())
    assert np.flatnonzero(found).tolist() == [0, 1]


def test_records_of_haplotypes() -> None:
    records = haplotype_records(trimmed_regions(), np.array([1, 2, 4]), 6)
    names = [name.tobytes().decode() for name in records.names]
    assert names == ["HC:7:103:2", "HC:7:103:3", "HC:7:203:2"]
    assert records.positions.tolist() == [100, 100, 200]
    assert cigar_strings(records.cigars) == ["5M", "1M3D1M", "3M"]
    assert [text.tobytes() for text in records.bases] == [b"ACTTA", b"AC", b"GTG"]
    assert records.flags.tolist() == [16] * 3
    assert records.mapping_qualities.tolist() == [60] * 3
    assert set(records.qualities.data.tolist()) == {33}


def java_hash(text: bytes) -> int:
    """Return what the documentation of `java.util.Arrays.hashCode(byte[])` says."""
    code = 1
    for byte in text:
        code = (31 * code + byte) & 0xFFFFFFFF
    return code - (1 << 32) if code >> 31 else code


def test_hash_codes() -> None:
    random = np.random.default_rng(7)
    texts = [bytes(random.choice(list(b"ACGTN"), n).astype(np.uint8)) for n in range(60)]
    texts += [b"T" * 700, b"", b"A"]
    assert hash_codes(Ragged.from_sequences(texts)).tolist() == [java_hash(t) for t in texts]
    assert hash_codes(Ragged.from_sequences([])).size == 0
