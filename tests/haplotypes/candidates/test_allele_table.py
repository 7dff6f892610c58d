"""Alleles of haplotypes at sites, by hand and against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.haplotypes.sites.allele_table import allele_table
from hapgpu.haplotypes.sites.haplotypes import haplotypes_of
from hapgpu.haplotypes.sites.loci import loci_of
from hapgpu.haplotypes.sites.phased import phase_groups_of_sites
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.example_counts import many
from tests.haplotypes.haplotype_oracle import trimmed_alleles_of
from tests.haplotypes.made_records import made_sites, record, references_and_records
from tests.haplotypes.made_references import slice_of

Carried = list[tuple[list[int], list[int]]]


def carried_and_numbers(text: str, records: list[VcfRecord], distance: int = 1000) -> list[Carried]:
    """Return the rows that the haplotypes of each locus carry, and their allele numbers."""
    reference, sites = slice_of(text), made_sites(records)
    counts = np.diff(sites.allele_offsets)
    loci = loci_of(shift_ranges_of(sites, reference), counts, distance, 10**6)
    phase_groups = phase_groups_of_sites(sites, loci)
    mask = np.empty(0, dtype=np.int64)
    haplotypes = haplotypes_of(sites, loci, phase_groups, reference, 3, 64, mask)
    table = allele_table(sites, loci, haplotypes)
    assert table.data.dtype == np.int16
    both = [
        (rows.tolist(), numbers.tolist())
        for rows, numbers in zip(haplotypes.carried, table, strict=True)
    ]
    offsets = haplotypes.offsets
    return [both[offsets[k] : offsets[k + 1]] for k in range(len(loci))]


@pytest.mark.parametrize(
    ("text", "records", "expected"),
    [
        ("ACGT", [record(1, "C", "T", "G")], [[0], [1], [2]]),
        # A deletion removes the sites within it, with a `*` allele or without.
        (
            "ACGTAC",
            [record(0, "ACG", "A"), record(1, "C", "T", "*"), record(2, "G", "T")],
            [[0, 0, 0], [1, 2, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]],
        ),
        # Not the sites at its anchor base, nor the sites after it.
        (
            "ACGTAC",
            [record(0, "A", "T", "*"), record(0, "ACG", "A"), record(3, "T", "*", "C")],
            [
                [0, 0, 0],
                [1, 0, 0],
                [0, 1, 0],
                [0, 0, 2],
                [1, 1, 0],
                [1, 0, 2],
                [0, 1, 2],
                [1, 1, 2],
            ],
        ),
        # If the anchor is the base after it, it removes the first base.
        ("ACGT", [record(0, "A", "*"), record(0, "AC", "C")], [[0, 0], [1, 1]]),
        ("ACGT", [record(0, "ACG", "A"), record(1, "C", "*", "*")], [[0, 0], [1, 1]]),
        # A deletion does not remove its own site.
        ("ACGT", [record(0, "ACG", "G", "*")], [[0], [1]]),
        # CGT replaced by A removes only GT.
        (
            "ACGTT",
            [record(1, "CGT", "A"), record(1, "C", "*"), record(2, "G", "*"), record(3, "T", "*")],
            [[0, 0, 0, 0], [1, 0, 1, 1]],
        ),
    ],
)
def test_by_hand(text: str, records: list[VcfRecord], expected: list[list[int]]) -> None:
    [locus] = carried_and_numbers(text, records)
    assert [numbers for _, numbers in locus] == expected


@given(references_and_records(), st.integers(0, 2))
@settings(max_examples=many(200))
def test_carried_and_deleted_sites(case: tuple[str, list[VcfRecord]], distance: int) -> None:
    text, records = case
    edits = trimmed_alleles_of(records)
    first_rows = np.cumsum([0, *(1 + len(one.alternatives) for one in records)]).tolist()
    first = 0
    for locus in carried_and_numbers(text, records, distance):
        for carried, numbers in locus:
            carried_numbers = {
                edits[row].site: row - first_rows[edits[row].site] for row in carried
            }
            removed = {
                (position, edits[row].site)
                for row in carried
                for position in range(edits[row].start + len(edits[row].text), edits[row].end)
            }
            for site, number in enumerate(numbers, first):
                is_removed = any(at == records[site].start and by != site for at, by in removed)
                texts = ("", *records[site].alternatives)
                spanned = texts.index("*") if is_removed and "*" in texts else 0
                assert number == carried_numbers.get(site, spanned)
        first += len(locus[0][1])
    assert first == len(records)


def test_too_many_alleles() -> None:
    many = record(1, "C", *(["<DEL>"] * 2**15))
    with pytest.raises(InputError, match="chr1:2: 32769 alleles"):
        carried_and_numbers("ACGT", [many])
