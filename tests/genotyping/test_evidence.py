"""Parts of reads to fragments: against the textbook form, and GATK's rules one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.batch import offsets_of
from hapgpu.genotyping.evidence import evidence_of
from hapgpu.genotyping.evidence_batch import Evidence, ReadWindows
from hapgpu.genotyping.reference import fragment_reference


class Fragment(NamedTuple):
    """Its locus, and the lengths and likelihoods of its parts."""

    locus: int
    lengths: Sequence[int]
    likelihoods: Sequence[Sequence[float]]


@st.composite
def fragments_at_loci(draw: st.DrawFn) -> tuple[list[int], list[Fragment]]:
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    values = st.one_of(st.floats(-12.0, 0.0), st.just(-math.inf), st.just(-8.0))
    fragments = []
    for locus in sorted(draw(st.lists(st.integers(0, len(counts) - 1), max_size=6))):
        lengths = draw(st.lists(st.integers(1, 160), min_size=1, max_size=3))
        row = st.lists(values, min_size=counts[locus], max_size=counts[locus])
        fragments.append(Fragment(locus, lengths, [draw(row) for _ in lengths]))
    return counts, fragments


def windows_of_fragments(fragments: Sequence[Fragment]) -> ReadWindows:
    """Return windows of which part k covers the positions 1000 k to 1000 k + 7."""
    parts = [len(fragment.lengths) for fragment in fragments]
    lengths = np.array([n for fragment in fragments for n in fragment.lengths], dtype=np.int64)
    rows = np.arange(lengths.size)
    loci = np.repeat(np.array([fragment.locus for fragment in fragments], dtype=np.int64), parts)
    samples = np.repeat(np.arange(len(fragments), dtype=np.int32), parts)
    return ReadWindows(
        rows, loci, samples, rows, rows + lengths, 1000 * rows, 1000 * rows + 7, offsets_of(parts)
    )


def evidence_of_fragments(counts: Sequence[int], fragments: Sequence[Fragment]) -> Evidence:
    values = [v for fragment in fragments for row in fragment.likelihoods for v in row]
    return evidence_of(
        windows_of_fragments(fragments), np.array(values, dtype=np.float64), np.array(counts)
    )


@settings(deadline=None)
@given(fragments_at_loci())
def test_fragments_equal_the_textbook_form(made: tuple[list[int], list[Fragment]]) -> None:
    counts, fragments = made
    evidence = evidence_of_fragments(counts, fragments)
    expected = [
        (fragment.locus, number, likelihoods)
        for number, fragment in enumerate(fragments)
        if (
            likelihoods := fragment_reference(
                [np.array(row) for row in fragment.likelihoods], fragment.lengths
            )
        )
        is not None
    ]
    assert evidence.loci.tolist() == [locus for locus, _, _ in expected]
    assert evidence.samples.tolist() == [number for _, number, _ in expected]
    assert len(evidence.likelihoods) == len(evidence.cover) == len(expected)
    for row, (_, _, likelihoods) in zip(evidence.likelihoods, expected, strict=True):
        assert row == pytest.approx(likelihoods, rel=1e-12, abs=1e-12)


@settings(deadline=None)
@given(fragments_at_loci())
def test_likelihoods_are_finite_and_near_their_best(
    made: tuple[list[int], list[Fragment]],
) -> None:
    for row in evidence_of_fragments(*made).likelihoods:
        assert np.isfinite(row).all()
        assert row.max() - row.min() <= 4.5 + 1e-12


def test_a_fragment_covers_what_its_explained_parts_cover() -> None:
    fragments = [
        Fragment(0, [100, 100, 100], [[-1.0, -2.0], [-9.0, -8.5], [-3.0, -0.5]]),
        Fragment(0, [100], [[-9.0, -10.0]]),
        Fragment(0, [100], [[-7.0, -8.0]]),
    ]
    evidence = evidence_of_fragments([2], fragments)
    assert evidence.samples.tolist() == [0, 2]
    assert [row.tolist() for row in evidence.cover] == [[0, 7, 2000, 2007], [4000, 4007]]
    assert [row.tolist() for row in evidence.likelihoods] == [[-4.0, -2.5], [-7.0, -8.0]]


def test_a_second_mate_does_not_make_a_fragment_surer_than_one_read_can_be() -> None:
    alone = evidence_of_fragments([2], [Fragment(0, [100], [[-1.0, -20.0]])])
    both = evidence_of_fragments([2], [Fragment(0, [100, 100], [[-1.0, -20.0]] * 2)])
    assert alone.likelihoods[0].tolist() == [-1.0, -5.5]
    assert both.likelihoods[0].tolist() == [-2.0, -6.5]


def test_mates_that_contradict_each_other_tell_nothing() -> None:
    fragment = Fragment(0, [100, 100], [[-1.0, -20.0], [-20.0, -1.0]])
    (row,) = evidence_of_fragments([2], [fragment]).likelihoods
    assert row[0] == row[1]


def test_no_windows() -> None:
    evidence = evidence_of_fragments([2, 1], [])
    assert evidence.loci.size == evidence.samples.size == 0
    assert len(evidence.likelihoods) == len(evidence.cover) == 0
