"""Haplotypes of loci by hand, and properties of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.haplotypes.sites.haplotypes import haplotypes_of
from hapgpu.haplotypes.sites.loci import loci_of
from hapgpu.haplotypes.sites.phased import phase_groups_of_sites
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.example_counts import many
from tests.haplotypes.haplotype_lists import (
    NO_MASK,
    haplotypes_of_records,
    listed,
    one_locus,
    phase_groups_of,
)
from tests.haplotypes.made_records import made_sites, record, references_and_records, sequence_rows
from tests.haplotypes.made_references import slice_of


@pytest.mark.parametrize(
    ("text", "records", "expected"),
    [
        ("ACGT", [record(1, "C", "T")], [("ACGT", []), ("ATGT", [1])]),
        ("ACGT", [record(1, "CG", "TA")], [("ACGT", []), ("ATAT", [1])]),
        # Insertions anchored on the left, on the right, and at both ends of the contig.
        ("ACGT", [record(1, "C", "CTT")], [("ACGT", []), ("ACTTGT", [1])]),
        ("ACGT", [record(1, "C", "TTC")], [("ACGT", []), ("ATTCGT", [1])]),
        ("ACGT", [record(0, "A", "GGA")], [("ACGT", []), ("GGACGT", [1])]),
        ("ACGT", [record(3, "T", "TCC")], [("ACGT", []), ("ACGTCC", [1])]),
        # Deletions likewise; the first base of a contig has its anchor after it.
        ("ACGT", [record(0, "AC", "A")], [("ACGT", []), ("AGT", [1])]),
        ("ACGT", [record(0, "AC", "C")], [("ACGT", []), ("CGT", [1])]),
        ("ACGT", [record(2, "GT", "G")], [("ACGT", []), ("ACG", [1])]),
        # Deletion and substitution at once.
        ("ACGTT", [record(1, "CGT", "A")], [("ACGTT", []), ("AAT", [1])]),
        # Several ALTs; `*` and symbolic ones have no haplotype.
        (
            "ACGT",
            [record(1, "CG", "C", "*", "<DEL>", "AG", "CGG")],
            [("ACGT", []), ("ACT", [1]), ("AAGT", [4]), ("ACGGT", [5])],
        ),
        ("ACGT", [record(1, "C", "*"), record(2, "G", "<INS>")], [("ACGT", [])]),
        ("ACGT", [record(1, "C")], [("ACGT", [])]),
        ("ACGT", [record(1, "C", "C")], [("ACGT", [])]),
        # Two sites: REF, single changes, both.
        (
            "ACGT",
            [record(1, "C", "T"), record(2, "G", "A")],
            [("ACGT", []), ("ATGT", [1]), ("ACAT", [3]), ("ATAT", [1, 3])],
        ),
        # Two records at one position combine only if their trimmed alleles do not conflict.
        (
            "ACGT",
            [record(1, "C", "T"), record(1, "C", "G")],
            [("ACGT", []), ("ATGT", [1]), ("AGGT", [3])],
        ),
        (
            "ACGT",
            [record(1, "C", "T"), record(1, "CG", "C")],
            [("ACGT", []), ("ATGT", [1]), ("ACT", [3]), ("ATT", [1, 3])],
        ),
        # An insertion combines with a substitution of the base after it.
        (
            "ACGT",
            [record(1, "C", "CA"), record(2, "G", "T")],
            [("ACGT", []), ("ACAGT", [1]), ("ACTT", [3]), ("ACATT", [1, 3])],
        ),
        # Two insertions, or insertion and deletion, at one position do not.
        (
            "ACGT",
            [record(1, "C", "CA"), record(1, "C", "CT")],
            [("ACGT", []), ("ACAGT", [1]), ("ACTGT", [3])],
        ),
        (
            "ACGT",
            [record(1, "C", "CAA"), record(1, "CG", "C")],
            [("ACGT", []), ("ACAAGT", [1]), ("ACT", [3])],
        ),
        # Deletions that overlap, and a site within one.
        (
            "ACGTAT",
            [record(0, "ACG", "A"), record(1, "CGT", "C"), record(4, "A", "G")],
            [
                ("ACGTAT", []),
                ("ATAT", [1]),
                ("ACAT", [3]),
                ("ACGTGT", [5]),
                ("ATGT", [1, 5]),
                ("ACGT", [3, 5]),
            ],
        ),
        (
            "ACGT",
            [record(0, "ACG", "A"), record(2, "G", "T", "*")],
            [("ACGT", []), ("AT", [1]), ("ACTT", [3])],
        ),
        # REFs that overlap although the trimmed alleles do not.
        (
            "ACGT",
            [record(0, "ACG", "TCG"), record(1, "CG", "CA")],
            [("ACGT", []), ("TCGT", [1]), ("ACAT", [3]), ("TCAT", [1, 3])],
        ),
        # One record twice: one haplotype that carries both.
        (
            "ACGT",
            [record(1, "C", "T"), record(1, "C", "T")],
            [("ACGT", []), ("ATGT", [1, 3])],
        ),
        # An MNV and the SNVs that it consists of change as many bases.
        (
            "ACGT",
            [record(1, "CG", "TA"), record(1, "C", "T"), record(2, "G", "A")],
            [("ACGT", []), ("ATAT", [1, 3, 5]), ("ATGT", [3]), ("ACAT", [5])],
        ),
        (
            "ACGTA",
            [record(1, "CGT", "TGA"), record(1, "C", "T"), record(3, "T", "A")],
            [("ACGTA", []), ("ATGAA", [1, 3, 5]), ("ATGTA", [3]), ("ACGAA", [5])],
        ),
        # So do three bases that become one, and a deletion of two beside an SNV.
        (
            "ACGTT",
            [record(1, "CGT", "A"), record(1, "CGT", "C"), record(1, "C", "A")],
            [("ACGTT", []), ("AAT", [1, 3, 5]), ("ACT", [3]), ("AAGTT", [5])],
        ),
        # The same deletion of a repeat, written at two positions.
        (
            "GAAAT",
            [record(0, "GA", "G"), record(2, "AA", "A")],
            [("GAAAT", []), ("GAAT", [1, 3]), ("GAT", [1, 3])],
        ),
        # Two alleles that cancel each other give the reference, which carries nothing.
        (
            "GCACAT",
            [record(0, "G", "GCA"), record(3, "CAT", "T")],
            [("GCACAT", []), ("GCACACAT", [1]), ("GCAT", [3])],
        ),
        # A deletion of two bases and two of one change equally many bases: all are carried.
        (
            "GAAAT",
            [record(0, "GAA", "G"), record(0, "GA", "G"), record(2, "AA", "A")],
            [("GAAAT", []), ("GAT", [1, 3, 5]), ("GAAT", [3, 5])],
        ),
        (
            "ANGT",
            [record(1, "N", "T"), record(2, "G", "A")],
            [("ANGT", []), ("ATGT", [1]), ("ANAT", [3]), ("ATAT", [1, 3])],
        ),
    ],
)
def test_by_hand(
    text: str, records: list[VcfRecord], expected: list[tuple[str, list[int]]]
) -> None:
    assert haplotypes_of_records(text, *records) == expected


@given(references_and_records(max_records=8), st.integers(1, 40))
@settings(max_examples=many(200))
def test_every_single_change_is_kept(
    case: tuple[str, list[VcfRecord]], max_combinations: int
) -> None:
    text, records = case
    found = dict(haplotypes_of_records(text, *records, max_combinations=max_combinations))
    assert next(iter(found)) == text
    rows = sequence_rows(records)
    for site, alternative in rows.values():
        start, reference = records[site].start, records[site].reference
        assert text[:start] + alternative + text[start + len(reference) :] in found
    singles = {(site, text) for site, text in rows.values()}
    assert len(found) <= max(max_combinations, 1 + len(singles))


def test_a_thousand_conflicting_sites() -> None:
    text = "ACGT" * 400
    records = [record(k, text[k:1200], text[k]) for k in range(1000)]
    deleted = [(text[: k + 1] + text[1200:], [2 * k + 1]) for k in range(1000)]
    assert haplotypes_of_records(text, *records, max_combinations=2000) == [(text, []), *deleted]


def test_all_single_changes_are_kept() -> None:
    text = "ACGT" * 250
    following = text[1:] + text[0]
    records = [record(k, text[k], following[k]) for k in range(1000)]
    changed = [(text[:k] + following[k] + text[k + 1 :], [2 * k + 1]) for k in range(1000)]
    assert haplotypes_of_records(text, *records, max_combinations=5) == [(text, []), *changed]


def test_order_of_combinations() -> None:
    records = [record(1, "C", "A", "T"), record(5, "C", "A", "T")]
    singles = [("ACGTACGT", []), ("AAGTACGT", [1]), ("ATGTACGT", [2])]
    singles += [("ACGTAAGT", [4]), ("ACGTATGT", [5])]
    pairs = [("AAGTAAGT", [1, 4]), ("AAGTATGT", [1, 5])]
    assert haplotypes_of_records("ACGTACGT", *records, max_combinations=7) == singles + pairs


@pytest.mark.parametrize(("max_combinations", "is_found"), [(118, False), (119, True)])
def test_at_most_sixteen_visited_per_kept(max_combinations: int, is_found: bool) -> None:
    text = "ACGT" * 25
    # 62 sites make 1891 pairs, of which only the last does not conflict.
    records = [record(k, text[k:90], text[k]) for k in range(60)]
    records += [record(70, text[70], "T"), record(80, text[80], "T")]
    found = haplotypes_of_records(text, *records, max_combinations=max_combinations)
    assert [rows for _, rows in found if len(rows) > 1] == [[121, 123]] * is_found
    assert len(found) == 63 + is_found


def test_loci_share_only_masked_positions() -> None:
    text = "ACGTACGTAC"
    records = [record(1, "C", "T"), record(5, "C", "G"), record(5, "C", "A")]
    reference = slice_of(text)
    sites = made_sites(records)
    loci = loci_of(shift_ranges_of(sites, reference), np.full(3, 2), 1, 64)
    found = haplotypes_of(
        sites,
        loci,
        phase_groups_of_sites(sites, loci),
        reference,
        4,
        64,
        np.array([1, 5, 5, 9]),
    )
    assert listed(found) == [
        [("ACGTAN", []), ("ATGTAN", [1])],
        [("NGTACGTAN", []), ("NGTAGGTAN", [3]), ("NGTAAGTAN", [5])],
    ]
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 1], [6, 10])


def test_no_loci() -> None:
    reference = slice_of("ACGT")
    sites, loci = one_locus([], reference)
    phase_groups = phase_groups_of_sites(sites, loci)
    assert listed(haplotypes_of(sites, loci, phase_groups, reference, 5, 64, NO_MASK)) == []


@pytest.mark.parametrize("reference", [slice_of("CGT", 1), slice_of("AC"), slice_of("", 2)])
def test_loci_outside_the_reference_are_errors(reference: ReferenceSlice) -> None:
    sites, loci = one_locus([record(0, "ACGT", "A")], slice_of("ACGT"))
    with pytest.raises(ValueError, match="do not fit each other"):
        haplotypes_of(sites, loci, phase_groups_of_sites(sites, loci), reference, 0, 64, NO_MASK)


def test_alleles_of_another_locus_are_errors() -> None:
    reference = slice_of("ACGTACGT")
    sites = made_sites([record(0, "A", "C"), record(6, "G", "T")])
    loci = loci_of(shift_ranges_of(sites, reference), np.full(2, 2), 1, 64)
    with pytest.raises(ValueError, match="do not fit each other"):
        haplotypes_of(sites, loci, phase_groups_of([[[[], [3]]]]), reference, 0, 64, NO_MASK)
