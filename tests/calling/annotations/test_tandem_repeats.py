"""Tandem repeats of records, against plain strings: GATKVariantContextUtils and TandemRepeat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.annotations.tandem_repeats import tandem_repeats
from hapgpu.calling.batches import VariantCalls
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.made_calls import likelihood_calls

START = 7


def records(alleles: list[list[str]], starts: list[int]) -> VariantCalls:
    phred = [[[0] * (len(row) * (len(row) + 1) // 2)] for row in alleles]
    calls = likelihood_calls(phred, [len(row) for row in alleles])
    texts = [text for row in alleles for text in row]
    offsets = offsets_of([len(row) for row in alleles])
    return replace(
        calls,
        starts=np.array(starts, dtype=np.int64),
        allele_offsets=offsets,
        alleles=Ragged.from_sequences(texts),
    )


def found(alleles: list[list[str]], context: str, first: str = "A") -> list[tuple[str, list[int]]]:
    """Return unit and counts of records that start at the same base; context follows it."""
    bases = np.frombuffer((first + context).encode(), dtype=np.uint8)
    calls = records(alleles, [START] * len(alleles))
    repeats = tandem_repeats(calls, ReferenceSlice(START, bases))
    offsets = calls.allele_offsets
    return [
        (
            repeats.units[k].tobytes().decode(),
            repeats.counts[offsets[k] : offsets[k + 1]].tolist(),
        )
        for k in range(len(alleles))
    ]


def leading(unit: str, text: str) -> int:
    count = 0
    while unit and text.startswith(unit * (count + 1)):
        count += 1
    return count


def oracle(alleles: list[str], context: str) -> tuple[str, list[int]]:
    none = ("", [0] * len(alleles))
    reference, *others = alleles
    if any(len(other) == len(reference) or other.startswith("<") for other in others):
        return none
    counts: list[int] = []
    unit = ""
    own = reference[1:]
    for other in others:
        longer = other[1:] if len(other) > len(reference) else own
        size = next(
            n for n in range(1, len(longer) + 1) if longer == longer[:n] * (len(longer) // n)
        )
        unit = longer[:size]
        inside = leading(unit, own)
        before = leading(unit, own + context) - inside
        after = leading(unit, other[1:] + context) - inside
        if before == 0 or after == 0:
            return none
        counts = [*(counts or [before]), after]
    return unit, counts


@pytest.mark.parametrize(
    ("alleles", "context", "unit", "counts"),
    [
        (["A", "AATC"], "ATCATCATCGGA", "ATC", [3, 4]),
        (["ACCCC", "A"], "CCCCCCCCATG", "C", [8, 4]),
        (["AGAGA", "A"], "GAGAGAGAGATTT", "GA", [5, 3]),
        (["A", "AT"], "GGG", "", [0, 0]),
        (["A", "C"], "CCC", "", [0, 0]),
        (["A", "AC", "<NON_REF>"], "CCC", "", [0, 0, 0]),
        (["A", "AC", "ACC"], "CCCT", "C", [3, 4, 5]),
        (["AC", "A", "*"], "CCCT", "C", [3, 2, 2]),
        (["A", "AC", "*"], "CCCT", "", [0, 0, 0]),
        (["A", "ACACACA"], "CACACAT", "CA", [3, 6]),
        (["A", "ACACACAC"], "CACACACG", "CACACAC", [1, 2]),
    ],
)
def test_cases(alleles: list[str], context: str, unit: str, counts: list[int]) -> None:
    assert oracle(alleles, context) == (unit, counts)
    assert found([alleles], context) == [(unit, counts)]


def test_repeats_are_counted_in_500_bases_after_the_reference() -> None:
    assert found([["A", "AC"], ["ACC", "A"]], "C" * 700) == [
        ("C", [500, 501]),
        ("C", [502, 500]),
    ]


SHORT = st.text("AC", max_size=7)
ALLELES = st.tuples(
    SHORT,
    st.lists(
        st.one_of(SHORT.map("A{}".format), st.sampled_from(["*", "<NON_REF>"])),
        min_size=1,
        max_size=3,
    ),
).map(lambda t: (f"A{t[0]}", t[1]))


@given(st.lists(ALLELES, min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 12))
def test_random_records(drawn: list[tuple[str, list[str]]], period: int, size: int) -> None:
    """All records have the same context, of which their REF are not the beginning."""
    context = "CACAAACC"[:period] * size + "CAT" * 3
    alleles = [[reference, *others] for reference, others in drawn]
    assert found(alleles, context) == [oracle(row, context) for row in alleles]
