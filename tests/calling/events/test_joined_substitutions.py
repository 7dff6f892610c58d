"""Substitutions of a haplotype that are one event, `--max-mnp-distance`: GATK's cases."""

from __future__ import annotations

import pytest

from hapgpu.calling.events.events import events_of
from tests.calling.events.made_haplotypes import Event, haplotypes_of, reference_of, rows_of
from tests.calling.events.test_trimming import trimmed_of

START = 20
FLANK = "CATCATCATCATCATCATCA"


def events_at(haplotype: str, reference: str, distance: int) -> list[Event]:
    """Return the events of a haplotype between flanks, from the end of the first flank on."""
    own = reference_of(FLANK + reference + FLANK)
    rows = haplotypes_of([[(FLANK + haplotype + FLANK, f"{len(own.bases)}M")]])
    starts = rows.offsets[:1] * 0
    (found,) = rows_of(events_of(rows, starts, own, distance), own)
    return [(start - START, ref, alt) for start, ref, alt in found]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0, [(0, "G"), (2, "G")]),
        (1, [(0, "G"), (2, "G")]),
        (2, [(0, "GAG")]),
        (5, [(0, "GAG")]),
    ],
)
def test_two_substitutions(distance: int, expected: list[tuple[int, str]]) -> None:
    """mnp.bam, 20:10019968."""
    found = events_at("GAG", "AAA", distance)
    assert [(start, alt) for start, _, alt in found] == expected


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0, [(0, "G"), (2, "G"), (5, "G"), (9, "G")]),
        (1, [(0, "G"), (2, "G"), (5, "G"), (9, "G")]),
        (2, [(0, "GAG"), (5, "G"), (9, "G")]),
        (3, [(0, "GAGTTG"), (9, "G")]),
        (4, [(0, "GAGTTGTCTG")]),
        (10, [(0, "GAGTTGTCTG")]),
    ],
)
def test_four_substitutions(distance: int, expected: list[tuple[int, str]]) -> None:
    """mnp.bam, 20:10020430."""
    found = events_at("GAGTTGTCTG", "AAATTCTCTA", distance)
    assert [(start, alt) for start, _, alt in found] == expected
    assert all(len(ref) == len(alt) for _, ref, alt in found)


@pytest.mark.parametrize("distance", [0, 1, 2, 3, 4, 10])
def test_substitutions_of_different_haplotypes_stay_apart(distance: int) -> None:
    """mnp.bam, 20:10020229 and 10020230."""
    assert events_at("AC", "GC", distance) == [(0, "G", "A")]
    assert events_at("GG", "GC", distance) == [(1, "C", "G")]


def test_an_indel_between_keeps_them_apart() -> None:
    reference = "A" * 40 + "CTGA" + "A" * 40
    haplotype = "A" * 38 + "GA" + "A" * 2 + "ATGA" + "A" * 40
    trimmed = trimmed_of(reference, (30, 60, 0, 84), [(haplotype, "40M2I44M"), (reference, "84M")])
    own = reference_of(reference)
    rows = haplotypes_of([[(haplotype, "40M2I44M")]])
    (found,) = rows_of(events_of(rows, rows.offsets[:1] * 0, own, 9), own)
    assert [(start, ref, alt) for start, ref, alt in found] == [
        (38, "A", "G"),
        (39, "A", "AAA"),
        (40, "C", "A"),
    ]
    assert trimmed.kept.tolist() == [0]
