"""Span requirements: against the reference implementation, and that against a plainer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import FragmentEvidence
from hapgpu.genotyping.reads.spanning import SpanRequirements, span_requirements_of
from hapgpu.haplotypes.batches import LocusBatch, ShiftRanges
from tests.genotyping.calls.reference import used_fragments_reference
from tests.haplotypes.made_sites import batch_of, record_of

CONTIG = range(60)

SHIFT_RANGES = st.builds(
    lambda start, length: range(start, min(start + length, CONTIG.stop)),
    st.integers(0, CONTIG.stop - 1),
    st.integers(1, 12),
)
PARTS = st.builds(
    lambda start, length: range(start, start + length),
    st.integers(-5, CONTIG.stop),
    st.integers(1, 40),
)
FRAGMENTS = st.lists(st.lists(PARTS, min_size=1, max_size=2), max_size=15)


class Locus(NamedTuple):
    """The shift ranges of the sites of a locus, and the fragments of each sample."""

    shift_ranges: list[range]
    samples: list[list[list[range]]]

    def shown(self, contig: range = CONTIG) -> range:
        """Return the reference interval of the haplotypes."""
        start = min(shift_range.start for shift_range in self.shift_ranges)
        end = max(shift_range.stop for shift_range in self.shift_ranges)
        return range(max(start - 20, contig.start), min(end + 20, contig.stop))


def loci(samples: int) -> st.SearchStrategy[list[Locus]]:
    shift_ranges = st.lists(SHIFT_RANGES, min_size=1, max_size=6)
    of_samples = st.lists(FRAGMENTS, min_size=samples, max_size=samples)
    return st.lists(st.builds(Locus, shift_ranges, of_samples), max_size=3)


def loci_batch(loci: Sequence[Locus], contig: range = CONTIG) -> LocusBatch:
    shift_ranges = [shift_range for locus in loci for shift_range in locus.shift_ranges]
    sizes = [len(locus.shift_ranges) for locus in loci]
    batch = batch_of(
        [record_of(k, ["C"]) for k in range(len(shift_ranges))], sizes, [2] * len(sizes)
    )
    shown = [locus.shown(contig) for locus in loci]
    return replace(
        batch,
        shift_ranges=ShiftRanges(edges(shift_ranges, "start"), edges(shift_ranges, "stop")),
        haplotypes=replace(
            batch.haplotypes, starts=edges(shown, "start"), ends=edges(shown, "stop")
        ),
    )


def edges(intervals: Sequence[range], which: str) -> NDArray[np.int64]:
    return np.array([getattr(interval, which) for interval in intervals], dtype=np.int64)


def evidence_at(loci: Sequence[Locus]) -> FragmentEvidence:
    rows = [
        (k, sample, fragment)
        for k, locus in enumerate(loci)
        for sample, fragments in enumerate(locus.samples)
        for fragment in fragments
    ]
    cover = [[edge for part in parts for edge in (part.start, part.stop)] for *_, parts in rows]
    return FragmentEvidence(
        np.array([locus for locus, *_ in rows], dtype=np.int64),
        np.array([sample for _, sample, _ in rows], dtype=np.int32),
        Ragged.from_lengths(np.zeros(2 * len(rows)), [2] * len(rows)),
        Ragged.from_lengths(
            np.array([edge for row in cover for edge in row], dtype=np.int64), list(map(len, cover))
        ),
        np.ones(len(rows), dtype=np.bool_),
    )


def used_fragments(
    fragments: Sequence[Sequence[range]], requirements: SpanRequirements, row: int
) -> list[int]:
    latest_start, earliest_end = requirements.latest_starts[row], requirements.earliest_ends[row]
    return [
        fragment
        for fragment, parts in enumerate(fragments)
        if any(part.start <= latest_start and part.stop >= earliest_end for part in parts)
    ]


def used_alone(
    fragments: list[list[range]], shift_ranges: list[range], contig: range = CONTIG, site: int = 0
) -> list[int]:
    """Return the fragments of one sample used at a site of one locus."""
    locus = Locus(shift_ranges, [fragments])
    requirements = span_requirements_of(evidence_at([locus]), loci_batch([locus], contig), 1)
    chosen = used_fragments(fragments, requirements, site)
    assert chosen == used_fragments_reference(fragments, site, shift_ranges, locus.shown(contig))
    return chosen


@given(st.data(), st.integers(1, 3))
def test_requirements_choose_the_fragments_of_the_reference_implementation(
    data: st.DataObject, samples: int
) -> None:
    drawn = data.draw(loci(samples))
    requirements = span_requirements_of(evidence_at(drawn), loci_batch(drawn), samples)
    row = 0
    for locus in drawn:
        for site in range(len(locus.shift_ranges)):
            for fragments in locus.samples:
                expected = used_fragments_reference(
                    fragments, site, locus.shift_ranges, locus.shown()
                )
                assert used_fragments(fragments, requirements, row) == expected
                row += 1
    assert requirements.latest_starts.size == requirements.earliest_ends.size == row


@given(st.lists(SHIFT_RANGES, min_size=1, max_size=6), st.lists(PARTS, min_size=1, max_size=9))
def test_joined_shift_ranges_are_runs_of_linked_positions(
    shift_ranges: list[range], parts: list[range]
) -> None:
    """Two adjacent positions are linked if a shift range contains both.

    There are less than ten fragments, so that one spanning fragment is at least a tenth.
    """

    def are_linked(one: int) -> bool:
        return any(one in shift_range and one + 1 in shift_range for shift_range in shift_ranges)

    for site, shift_range in enumerate(shift_ranges):
        first = last = shift_range[0]
        while are_linked(first - 1):
            first -= 1
        while are_linked(last):
            last += 1
        if last > first:
            first, last = max(first - 1, 0), min(last + 1, CONTIG[-1])
        spanning = [k for k, part in enumerate(parts) if first in part and last in part]
        overlapping = [
            k for k, part in enumerate(parts) if any(base in part for base in shift_range)
        ]
        fragments = [[part] for part in parts]
        assert used_fragments_reference(fragments, site, shift_ranges, CONTIG) == (
            spanning or overlapping
        )


@pytest.mark.parametrize(
    ("part", "is_used"),
    [
        (range(9, 16), True),
        (range(59), True),
        (range(10, 16), False),
        (range(9, 15), False),
        (range(15, 30), False),
    ],
)
def test_a_read_has_to_cover_a_base_on_either_side_of_a_repeat(part: range, is_used: bool) -> None:
    whole = [range(5, 25)]
    assert used_alone([whole, [part]], [range(10, 15)]) == ([0, 1] if is_used else [0])


def test_a_single_base_needs_no_bases_beside_it() -> None:
    parts = [range(10, 11), range(11), range(10), range(11, 20)]
    assert used_alone([[part] for part in parts], [range(10, 11)]) == [0, 1]


def test_mates_do_not_span_together() -> None:
    mates = [range(13), range(12, 30)]
    assert used_alone([[range(30)], mates, [range(2), range(9, 16)]], [range(10, 15)]) == [0, 2]


@pytest.mark.parametrize(
    ("shift_range", "part"),
    [(range(5), range(6)), (range(15, 20), range(14, 20)), (range(20), range(20))],
)
def test_no_bases_are_required_outside_the_contig(shift_range: range, part: range) -> None:
    half = range(shift_range.start + 1, shift_range.stop - 1)
    assert used_alone([[part], [half]], [shift_range], range(20)) == [0]


@pytest.mark.parametrize(("overlapping", "chosen"), [(9, [0]), (10, list(range(11)))])
def test_all_are_used_if_less_than_a_tenth_span(overlapping: int, chosen: list[int]) -> None:
    fragments = [[range(20)], *([range(11)] for _ in range(overlapping)), [range(10)]]
    assert used_alone(fragments, [range(10, 15)]) == chosen


def test_the_fragments_may_be_the_first_of_longer_arrays() -> None:
    """A fragment after them, which spans the site, does not count."""
    locus = Locus([range(10, 15)], [[[range(11)], [range(20)]]])
    both = evidence_at([locus])
    first = FragmentEvidence(
        both.loci[:1],
        both.samples[:1],
        Ragged(both.likelihoods.data[:2], both.likelihoods.offsets[:2]),
        Ragged(both.cover.data[:2], both.cover.offsets[:2]),
        both.is_explained[:1],
    )
    requirements = span_requirements_of(first, loci_batch([locus]), 1)
    assert used_fragments([[range(11)]], requirements, 0) == [0]


def test_without_spanning_fragments_overlapping_ones_are_used() -> None:
    shift_ranges = [range(10, 15), range(14, 30)]
    fragments = [[range(12)], [range(16, 29)], [range(9, 16)]]
    assert used_alone(fragments, shift_ranges, site=0) == [0, 2]
    assert used_alone(fragments, shift_ranges, site=1) == [1, 2]


def test_samples_are_independent() -> None:
    spanning, overlapping = [range(20)], [range(12)]
    locus = Locus([range(10, 15)], [[spanning, overlapping], [overlapping], []])
    requirements = span_requirements_of(evidence_at([locus]), loci_batch([locus]), 3)
    chosen = [
        used_fragments(fragments, requirements, row) for row, fragments in enumerate(locus.samples)
    ]
    assert chosen == [[0], [0], []]


def test_adjoining_shift_ranges_and_other_loci_are_not_joined() -> None:
    fragment = [range(7, 13)]
    apart = [Locus([range(8, 12)], [[fragment]]), Locus([range(10, 20)], [[[range(30)]]])]
    requirements = span_requirements_of(evidence_at(apart), loci_batch(apart), 1)
    assert (requirements.latest_starts.tolist(), requirements.earliest_ends.tolist()) == (
        [7, 9],
        [13, 21],
    )
    assert used_alone([fragment, [range(30)]], [range(8, 12), range(12, 20)]) == [0, 1]
    assert used_alone([fragment, [range(30)]], [range(8, 12), range(11, 20)]) == [1]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_long_chain_of_shift_ranges_is_joined(is_reversed: bool) -> None:
    chain = [range(10 + 3 * k, 14 + 3 * k) for k in range(1000)]
    end = chain[-1].stop
    locus = Locus(chain[::-1] if is_reversed else chain, [[[range(9, end + 1)]]])
    requirements = span_requirements_of(
        evidence_at([locus]), loci_batch([locus], range(end + 9)), 1
    )
    assert set(requirements.latest_starts.tolist()) == {9}
    assert set(requirements.earliest_ends.tolist()) == {end + 1}


def test_no_loci() -> None:
    assert span_requirements_of(evidence_at([]), loci_batch([]), 2).latest_starts.size == 0
