"""Shift ranges of alleles, against all equivalent forms of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT, shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.example_counts import many
from tests.haplotypes.made_records import made_sites, record, references_and_records
from tests.haplotypes.made_references import slice_of


def shift_ranges(text: str, records: list[VcfRecord], start: int = 0) -> list[tuple[int, int]]:
    found = shift_ranges_of(made_sites(records), slice_of(text, start))
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def equivalent_forms(text: str, changed: str) -> list[tuple[int, int]]:
    """Return the interval of each insertion or deletion that makes `changed` of `text`."""
    size = len(changed) - len(text)
    starts = range(len(text) + 1 + min(size, 0))
    if size > 0:
        return [
            (p, p) for p in starts if changed[:p] == text[:p] and changed[p + size :] == text[p:]
        ]
    return [(p, p - size) for p in starts if size and changed == text[:p] + text[p - size :]]


@given(references_and_records(), st.integers(0, 5))
@settings(max_examples=many(200))
def test_shift_ranges_cover_all_equivalent_forms(
    case: tuple[str, list[VcfRecord]], start: int
) -> None:
    text, records = case
    moved = [record(start + one.start, one.reference, *one.alternatives) for one in records]
    for one, found in zip(records, shift_ranges(text, moved, start), strict=True):
        intervals = [(one.start, one.start + len(one.reference))]
        for alternative in one.alternatives:
            if alternative.isalpha():
                end = one.start + len(one.reference)
                intervals += equivalent_forms(text, text[: one.start] + alternative + text[end:])
        assert found == (start + min(intervals)[0], start + max(e for _, e in intervals))


@pytest.mark.parametrize(
    ("text", "one", "shift_range"),
    [
        ("GGACTGG", record(3, "C", "T"), (3, 4)),
        ("GGACTGG", record(2, "ACT", "GCA"), (2, 5)),
        # CA in a run of CA: left-anchored, in the middle, and with the base after it.
        ("GGCACACATT", record(1, "GCA", "G"), (1, 8)),
        ("GGCACACATT", record(3, "ACA", "A"), (2, 8)),
        ("GGCACACATT", record(6, "CAT", "T"), (2, 9)),
        ("GGCACACATT", record(1, "G", "GCA"), (1, 8)),
        ("GGCACACATT", record(6, "C", "CAC"), (2, 8)),
        # To the ends of the contig, where a deletion has the base after it as anchor.
        ("AAAC", record(0, "AA", "A"), (0, 3)),
        ("CAAA", record(3, "A", "AA"), (1, 4)),
        ("ACGT", record(0, "AC", "C"), (0, 2)),
        # Several ALTs: the union. Deletion and substitution at once stay where they are.
        ("GAAAAT", record(0, "GA", "G", "GC", "GAAA"), (0, 5)),
        ("GAAAAT", record(1, "AA", "C"), (1, 3)),
        ("GAAAAT", record(2, "A", "*", "<DEL>"), (2, 3)),
        ("GAAAAT", record(2, "A", "A"), (2, 3)),
        ("GNNNAT", record(0, "GN", "G"), (0, 4)),
    ],
)
def test_by_hand(text: str, one: VcfRecord, shift_range: tuple[int, int]) -> None:
    assert shift_ranges(text, [one]) == [shift_range]


def test_shifts_are_limited() -> None:
    text = "A" * (3 * LONGEST_SHIFT)
    position = LONGEST_SHIFT + 500
    assert shift_ranges(text, [record(position, "A", "AA")]) == [
        (position - LONGEST_SHIFT, position + LONGEST_SHIFT)
    ]


def test_no_sites() -> None:
    assert shift_ranges("ACGT", []) == []


@pytest.mark.parametrize("one", [record(9, "A", "C"), record(13, "AC", "A")])
def test_sites_outside_the_reference_are_errors(one: VcfRecord) -> None:
    with pytest.raises(ValueError, match="outside the reference slice 10 to 14"):
        shift_ranges("ACGT", [one], start=10)
