"""Repeats of DRAGstr, against an oracle that counts the copies of every unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.memory import memory_of
from hapgpu.pairhmm.dragstr.repeats import REACH, find_repeats, locus_repeats

MAX_PERIOD = 8
BASES = st.text("AC", min_size=1, max_size=60) | st.text("ACGTN", min_size=1, max_size=40)


def copies_at(bases: str, start: int, period: int) -> int:
    """Count the copies, on both sides, of the unit that starts at a base; 0: it does not fit."""
    unit = bases[start : start + period]
    if len(unit) < period:
        return 0
    before, after = start, start + period
    while before >= period and bases[before - period : before] == unit:
        before -= period
    while bases[after : after + period] == unit:
        after += period
    return (after - before) // period


def repeat_at(bases: str, base: int) -> tuple[int, int]:
    """Return the unit with most copies that holds a base or starts after it, the shortest."""
    best = (1, 1)
    for period in range(1, MAX_PERIOD + 1):
        for start in range(max(base - period + 1, 0), min(base + 2, len(bases))):
            copies = copies_at(bases, start, period)
            if start == 0 and period > 1 and copies > 1:
                copies -= 1  # as DRAGEN
            if copies > best[1]:
                best = (period, copies)
    return best


def repeats_of(bases: str) -> list[tuple[int, int]]:
    periods, copies = np.zeros((2, len(bases)), dtype=np.int64)
    text = np.frombuffer(bases.encode(), dtype=np.uint8)
    find_repeats(memory_of(text), MAX_PERIOD, periods, copies)
    return list(zip(periods.tolist(), copies.tolist(), strict=True))


@settings(max_examples=400)
@given(BASES)
def test_repeats_of_reads(bases: str) -> None:
    assert repeats_of(bases) == [repeat_at(bases, k) for k in range(len(bases))]


@pytest.mark.parametrize(
    ("bases", "periods", "copies"),
    [
        ("AAATATATATAAA", "1222222222211", "3444444444433"),
        ("ATATATATATATAT", "22222222222222", "67777777777777"),
        ("CACATG", "122211", "122211"),
        ("A", "1", "1"),
    ],
)
def test_cases_of_gatk(bases: str, periods: str, copies: str) -> None:
    expected = [(int(p), int(c)) for p, c in zip(periods, copies, strict=True)]
    assert repeats_of(bases) == expected


def locus_repeat(bases: str, locus: int) -> tuple[int, int]:
    """Return the unit with most copies from a locus on, with those before it."""
    counts = []
    for period in range(1, MAX_PERIOD + 1):
        unit, count = bases[locus : locus + period], 1
        while bases[locus + count * period : locus + (count + 1) * period] == unit:
            count += 1
        counts.append((count if len(unit) == period else 1, -period))
    count, period = max(counts)
    unit = bases[locus : locus - period]
    at = locus
    while at + period >= 0 and bases[at + period : at] == unit:
        at, count = at + period, count + 1
    return -period, count


@settings(max_examples=400)
@given(BASES, st.data())
def test_repeats_of_loci(bases: str, data: st.DataObject) -> None:
    loci = data.draw(st.lists(st.integers(0, len(bases) - 1), max_size=5))
    text = np.frombuffer(bases.encode(), dtype=np.uint8)
    periods, copies = locus_repeats(text, np.array(loci, dtype=np.int64), MAX_PERIOD)
    found = list(zip(periods.tolist(), copies.tolist(), strict=True))
    assert found == [locus_repeat(bases, locus) for locus in loci]


def test_reach_of_a_locus() -> None:
    text = np.full(2000, ord("A"), dtype=np.uint8)
    periods, copies = locus_repeats(text, np.array([1000]), MAX_PERIOD)
    assert (periods.tolist(), copies.tolist()) == ([1], [2 * REACH])


def test_locus_of_gatk() -> None:
    """The example of `DragstrReferenceAnalyzer`: units upstream that differ do not count."""
    bases = "ATACACACACACACACACACTACTACTACTGAAGA"
    text = np.frombuffer(bases.encode(), dtype=np.uint8)
    periods, copies = locus_repeats(text, np.array([18]), MAX_PERIOD)
    assert (periods.tolist(), copies.tolist()) == ([3], [4])
