"""Which fragments count at a site: against the textbook form, and that against a plainer one."""

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
from hapgpu.genotyping.batches import Evidence
from hapgpu.genotyping.calls.reference import counting_reference
from hapgpu.genotyping.evidence.spanning import SpanRequirements, span_requirements_of
from hapgpu.haplotypes.batches import LocusBatch, ShiftRanges
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
    """The shift ranges of its sites, and the parts of the fragments of each sample."""

    shift_ranges: list[range]
    samples: list[list[list[range]]]

    def shown(self, contig: range = CONTIG) -> range:
        """Return what its haplotypes show."""
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


def edges(stretches: Sequence[range], which: str) -> NDArray[np.int64]:
    return np.array([getattr(stretch, which) for stretch in stretches], dtype=np.int64)


def evidence_at(loci: Sequence[Locus]) -> Evidence:
    rows = [
        (k, sample, fragment)
        for k, locus in enumerate(loci)
        for sample, fragments in enumerate(locus.samples)
        for fragment in fragments
    ]
    cover = [[edge for part in parts for edge in (part.start, part.stop)] for *_, parts in rows]
    return Evidence(
        np.array([locus for locus, *_ in rows], dtype=np.int64),
        np.array([sample for _, sample, _ in rows], dtype=np.int32),
        Ragged.from_lengths(np.zeros(2 * len(rows)), [2] * len(rows)),
        Ragged.from_lengths(
            np.array([edge for row in cover for edge in row], dtype=np.int64), list(map(len, cover))
        ),
        np.ones(len(rows), dtype=np.bool_),
    )


def counting(
    fragments: Sequence[Sequence[range]], reaches: SpanRequirements, row: int
) -> list[int]:
    latest_start, earliest_stop = reaches.latest_starts[row], reaches.earliest_stops[row]
    return [
        fragment
        for fragment, parts in enumerate(fragments)
        if any(part.start <= latest_start and part.stop >= earliest_stop for part in parts)
    ]


def counting_alone(
    fragments: list[list[range]], shift_ranges: list[range], contig: range = CONTIG, site: int = 0
) -> list[int]:
    """Tell which fragments of one sample count at a site of one locus."""
    locus = Locus(shift_ranges, [fragments])
    reaches = span_requirements_of(evidence_at([locus]), loci_batch([locus], contig), 1)
    chosen = counting(fragments, reaches, site)
    assert chosen == counting_reference(fragments, site, shift_ranges, locus.shown(contig))
    return chosen


@given(st.data(), st.integers(1, 3))
def test_reaches_choose_the_fragments_of_the_textbook_form(
    data: st.DataObject, samples: int
) -> None:
    drawn = data.draw(loci(samples))
    reaches = span_requirements_of(evidence_at(drawn), loci_batch(drawn), samples)
    row = 0
    for locus in drawn:
        for site in range(len(locus.shift_ranges)):
            for fragments in locus.samples:
                expected = counting_reference(fragments, site, locus.shift_ranges, locus.shown())
                assert counting(fragments, reaches, row) == expected
                row += 1
    assert reaches.latest_starts.size == reaches.earliest_stops.size == row


@given(st.lists(SHIFT_RANGES, min_size=1, max_size=6), st.lists(PARTS, min_size=1, max_size=9))
def test_the_stretch_is_the_run_of_positions_that_extents_link(
    shift_ranges: list[range], parts: list[range]
) -> None:
    """Two neighbouring positions are linked where a shift range holds both.

    There are less than ten fragments, so that a single one that reaches across is a tenth.
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
        across = [k for k, part in enumerate(parts) if first in part and last in part]
        partly = [k for k, part in enumerate(parts) if any(base in part for base in shift_range)]
        fragments = [[part] for part in parts]
        assert counting_reference(fragments, site, shift_ranges, CONTIG) == (across or partly)


@pytest.mark.parametrize(
    ("part", "counts"),
    [
        (range(9, 16), True),
        (range(59), True),
        (range(10, 16), False),
        (range(9, 15), False),
        (range(15, 30), False),
    ],
)
def test_a_read_is_to_show_a_base_on_either_side_of_a_repeat(part: range, counts: bool) -> None:
    whole = [range(5, 25)]
    assert counting_alone([whole, [part]], [range(10, 15)]) == ([0, 1] if counts else [0])


def test_a_single_base_is_to_be_covered_and_no_more() -> None:
    parts = [range(10, 11), range(11), range(10), range(11, 20)]
    assert counting_alone([[part] for part in parts], [range(10, 11)]) == [0, 1]


def test_mates_do_not_reach_across_together() -> None:
    mates = [range(13), range(12, 30)]
    assert counting_alone([[range(30)], mates, [range(2), range(9, 16)]], [range(10, 15)]) == [0, 2]


@pytest.mark.parametrize(
    ("shift_range", "part"),
    [(range(5), range(6)), (range(15, 20), range(14, 20)), (range(20), range(20))],
)
def test_there_are_no_bases_beyond_the_contig(shift_range: range, part: range) -> None:
    half = range(shift_range.start + 1, shift_range.stop - 1)
    assert counting_alone([[part], [half]], [shift_range], range(20)) == [0]


@pytest.mark.parametrize(("partly", "chosen"), [(9, [0]), (10, list(range(11)))])
def test_all_count_where_less_than_a_tenth_reach_across(partly: int, chosen: list[int]) -> None:
    fragments = [[range(20)], *([range(11)] for _ in range(partly)), [range(10)]]
    assert counting_alone(fragments, [range(10, 15)]) == chosen


def test_where_none_reaches_across_those_count_that_cover_some_of_the_shift_range_itself() -> None:
    shift_ranges = [range(10, 15), range(14, 30)]
    fragments = [[range(12)], [range(16, 29)], [range(9, 16)]]
    assert counting_alone(fragments, shift_ranges, site=0) == [0, 2]
    assert counting_alone(fragments, shift_ranges, site=1) == [1, 2]


def test_samples_are_judged_apart() -> None:
    across, partly = [range(20)], [range(12)]
    locus = Locus([range(10, 15)], [[across, partly], [partly], []])
    reaches = span_requirements_of(evidence_at([locus]), loci_batch([locus]), 3)
    chosen = [counting(fragments, reaches, row) for row, fragments in enumerate(locus.samples)]
    assert chosen == [[0], [0], []]


def test_extents_that_touch_or_belong_to_other_loci_are_not_joined() -> None:
    fragment = [range(7, 13)]
    apart = [Locus([range(8, 12)], [[fragment]]), Locus([range(10, 20)], [[[range(30)]]])]
    reaches = span_requirements_of(evidence_at(apart), loci_batch(apart), 1)
    assert (reaches.latest_starts.tolist(), reaches.earliest_stops.tolist()) == ([7, 9], [13, 21])
    assert counting_alone([fragment, [range(30)]], [range(8, 12), range(12, 20)]) == [0, 1]
    assert counting_alone([fragment, [range(30)]], [range(8, 12), range(11, 20)]) == [1]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_long_chain_of_extents_is_one_stretch(is_reversed: bool) -> None:
    chain = [range(10 + 3 * k, 14 + 3 * k) for k in range(1000)]
    end = chain[-1].stop
    locus = Locus(chain[::-1] if is_reversed else chain, [[[range(9, end + 1)]]])
    reaches = span_requirements_of(evidence_at([locus]), loci_batch([locus], range(end + 9)), 1)
    assert set(reaches.latest_starts.tolist()) == {9}
    assert set(reaches.earliest_stops.tolist()) == {end + 1}


def test_no_loci() -> None:
    assert span_requirements_of(evidence_at([]), loci_batch([]), 2).latest_starts.size == 0
