"""Tandem repeats at insertions and deletions."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import columns_of
from hapgpu.calling.batches import Events
from hapgpu.calling.events import spans
from hapgpu.calling.events.events import EventsView, ReferenceView
from hapgpu.calling.events.spans import repeat_of
from tests.calling.events.event_oracle import expected_repeat, period_of
from tests.calling.events.made_haplotypes import Event, random_reference, reference_of


def repeat_at(event: Event, reference: str, context_end: int, start: int = 0) -> tuple[int, ...]:
    first = np.array([event[0]], dtype=np.int64)
    alternates = Ragged.from_sequences([event[2]])
    events = Events(np.array([0, 1]), first, first + len(event[1]), alternates)
    view = columns_of(EventsView, events)
    bases = columns_of(ReferenceView, reference_of(reference, start))
    found = repeat_of(view, 0, bases, context_end)
    return tuple(int(value) for value in found)


@pytest.mark.parametrize(
    ("ref", "alt", "context", "expected"),
    [
        ("A", "AATC", "ATCATCATCGGA", (3, 3, 4)),
        ("ACCCC", "A", "CCCCCCCCATG", (1, 8, 4)),
        ("AGAGA", "A", "GAGAGAGAGATTT", (2, 5, 3)),
        ("A", "AATC", "GATCATC", (0, 0, 0)),
        ("ATTT", "A", "TTTG", (0, 0, 0)),  # no copy is left
        ("A", "AT", "", (0, 0, 0)),
        ("AC", "G", "CCT", (1, 2, 1)),  # with a SNP: only the bases after the first count
        ("ACGT", "AGG", "CGTCGT", (3, 2, -1)),  # GATK only asks for counts that are not 0
    ],
)
@pytest.mark.parametrize("start", [0, 500])
def test_literal_cases(
    ref: str, alt: str, context: str, expected: tuple[int, int, int], start: int
) -> None:
    reference = "T" + ref[0] + context
    event = (start + 1, ref, alt)
    assert repeat_at(event, reference, start + len(reference), start) == expected


@pytest.mark.parametrize(
    ("text", "period"), [("CACACA", 2), ("CACACAC", 7), ("A", 1), ("AAAA", 1), ("ACGACG", 3)]
)
def test_periods(text: str, period: int) -> None:
    bases = reference_of(text).bases
    assert spans._period_of(spans._Text(bases, np.int64(0), np.int64(len(text)))) == period
    assert period_of(text) == period


@pytest.mark.parametrize("seed", range(5))
def test_random_events(seed: int) -> None:
    source = np.random.default_rng(seed)
    for _ in range(300):
        reference = random_reference(source, 40)
        start, length, inserted = map(int, source.integers([0, 1, 1], [39, 9, 8]))
        ref = reference[start : start + length]
        rests = [ref[1:] * 2, reference[start + 1 : start + inserted], ""]
        event = (start, ref, ref[0] + rests[source.integers(3)])
        end = int(source.integers(len(reference) + 1))
        if len(ref) != len(event[2]):
            context = reference[start + 1 : end]
            assert repeat_at(event, reference, end) == expected_repeat(event, context)
