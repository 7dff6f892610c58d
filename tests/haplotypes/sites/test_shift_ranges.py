"""How far alleles could as well be written, against all other ways to write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.sites.columns import sites_of
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT, shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import record, references_and_records
from tests.haplotypes.made_references import slice_of


def shift_ranges(text: str, records: list[VcfRecord], start: int = 0) -> list[tuple[int, int]]:
    found = shift_ranges_of(sites_of(records), slice_of(text, start))
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def other_spellings(text: str, changed: str) -> list[tuple[int, int]]:
    """Return the stretch of each way to make `changed` by one insertion or one deletion."""
    size = len(changed) - len(text)
    places = range(len(text) + 1 + min(size, 0))
    if size > 0:
        return [
            (p, p) for p in places if changed[:p] == text[:p] and changed[p + size :] == text[p:]
        ]
    return [(p, p - size) for p in places if size and changed == text[:p] + text[p - size :]]


@given(references_and_records(), st.integers(0, 5))
@settings(max_examples=200)
def test_cover_every_other_spelling(case: tuple[str, list[VcfRecord]], start: int) -> None:
    text, records = case
    moved = [record(start + one.start, one.reference, *one.alternatives) for one in records]
    for one, found in zip(records, shift_ranges(text, moved, start), strict=True):
        stretches = [(one.start, one.start + len(one.reference))]
        for alternative in one.alternatives:
            if alternative.isalpha():
                end = one.start + len(one.reference)
                stretches += other_spellings(text, text[: one.start] + alternative + text[end:])
        assert found == (start + min(stretches)[0], start + max(e for _, e in stretches))


@pytest.mark.parametrize(
    ("text", "one", "shift_range"),
    [
        ("GGACTGG", record(3, "C", "T"), (3, 4)),
        ("GGACTGG", record(2, "ACT", "GCA"), (2, 5)),
        # CA in a run of CA: left-anchored, in the middle, and with the base behind.
        ("GGCACACATT", record(1, "GCA", "G"), (1, 8)),
        ("GGCACACATT", record(3, "ACA", "A"), (2, 8)),
        ("GGCACACATT", record(6, "CAT", "T"), (2, 9)),
        ("GGCACACATT", record(1, "G", "GCA"), (1, 8)),
        ("GGCACACATT", record(6, "C", "CAC"), (2, 8)),
        # To the ends of the contig, where a deletion has the base behind it for an anchor.
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


def test_do_not_follow_a_repeat_for_ever() -> None:
    text = "A" * (3 * LONGEST_SHIFT)
    place = LONGEST_SHIFT + 500
    assert shift_ranges(text, [record(place, "A", "AA")]) == [
        (place - LONGEST_SHIFT, place + LONGEST_SHIFT)
    ]


def test_no_sites() -> None:
    assert shift_ranges("ACGT", []) == []


@pytest.mark.parametrize("one", [record(9, "A", "C"), record(13, "AC", "A")])
def test_refuse_sites_beyond_the_reference(one: VcfRecord) -> None:
    with pytest.raises(ValueError, match="sites beyond the reference at 10 to 14"):
        shift_ranges("ACGT", [one], start=10)
