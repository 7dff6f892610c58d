"""Fragment likelihoods: against the reference implementation, and GATK's rules one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import offsets_of
from hapgpu.genotyping.batches import ClippedReads, FragmentEvidence
from hapgpu.genotyping.reads.fragment_likelihoods import evidence_of
from tests.genotyping.calls.reference import fragment_reference


class Fragment(NamedTuple):
    """The locus of a fragment, and the lengths and likelihoods of its clipped reads."""

    locus: int
    lengths: Sequence[int]
    likelihoods: Sequence[Sequence[float]]


@st.composite
def fragments_at_loci(draw: st.DrawFn) -> tuple[list[int], list[Fragment]]:
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    values = st.one_of(st.floats(-30.0, 0.0), st.sampled_from([-math.inf, -24.0, -8.0, -4.0]))
    fragments = []
    for locus in sorted(draw(st.lists(st.integers(0, len(counts) - 1), max_size=6))):
        lengths = draw(st.lists(st.integers(1, 160), min_size=1, max_size=3))
        row = st.lists(values, min_size=counts[locus], max_size=counts[locus])
        fragments.append(Fragment(locus, lengths, [draw(row) for _ in lengths]))
    return counts, fragments


def clipped_reads_of_fragments(fragments: Sequence[Fragment]) -> ClippedReads:
    """Return clipped reads, of which read k covers the positions 1000 k to 1000 k + 7."""
    parts = [len(fragment.lengths) for fragment in fragments]
    lengths = np.array([n for fragment in fragments for n in fragment.lengths], dtype=np.int64)
    rows = np.arange(lengths.size)
    loci = np.repeat(np.array([fragment.locus for fragment in fragments], dtype=np.int64), parts)
    samples = np.repeat(np.arange(len(fragments), dtype=np.int32), parts)
    return ClippedReads(
        rows, loci, samples, rows, rows + lengths, 1000 * rows, 1000 * rows + 7, offsets_of(parts)
    )


def evidence_of_fragments(counts: Sequence[int], fragments: Sequence[Fragment]) -> FragmentEvidence:
    values = [v for fragment in fragments for row in fragment.likelihoods for v in row]
    return evidence_of(
        clipped_reads_of_fragments(fragments), np.array(values, dtype=np.float64), np.array(counts)
    )


@given(fragments_at_loci())
def test_fragments_equal_the_reference_implementation(
    made: tuple[list[int], list[Fragment]],
) -> None:
    counts, fragments = made
    evidence = evidence_of_fragments(counts, fragments)
    assert evidence.loci.tolist() == [fragment.locus for fragment in fragments]
    assert evidence.samples.tolist() == list(range(len(fragments)))
    assert len(evidence.likelihoods) == len(evidence.cover) == len(fragments)
    for row, fragment in zip(evidence.likelihoods, fragments, strict=True):
        parts = [np.array(values) for values in fragment.likelihoods]
        expected = fragment_reference(parts, fragment.lengths)
        assert row == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(fragments_at_loci())
def test_likelihoods_are_finite_and_near_their_best(
    made: tuple[list[int], list[Fragment]],
) -> None:
    evidence = evidence_of_fragments(*made)
    for row, is_explained in zip(evidence.likelihoods, evidence.is_explained, strict=True):
        assert np.isfinite(row).all()
        assert row.max() - row.min() <= (4.5 if is_explained else 1.5) + 1e-12


@given(fragments_at_loci(), st.floats(-30.0, 0.0))
def test_bases_that_no_haplotype_has_change_no_preference(
    made: tuple[list[int], list[Fragment]], unlisted: float
) -> None:
    """The cost is equal for all haplotypes: the best stays the best, by at most the same margin."""
    counts, fragments = made
    with_unlisted = [
        fragment._replace(likelihoods=[[v + unlisted for v in row] for row in fragment.likelihoods])
        for fragment in fragments
        if len(fragment.lengths) == 1
    ]
    alone = [fragment for fragment in fragments if len(fragment.lengths) == 1]
    before = evidence_of_fragments(counts, alone).likelihoods
    after = evidence_of_fragments(counts, with_unlisted).likelihoods
    for one, other in zip(before, after, strict=True):
        assert (other.max() - other <= one.max() - one + 1e-9).all()
        assert (other.max() - other >= np.minimum(one.max() - one, 1.0) - 1e-9).all()


def test_all_reads_of_a_fragment_are_used() -> None:
    fragments = [
        Fragment(0, [100, 100, 100], [[-1.0, -2.0], [-9.0, -8.5], [-3.0, -0.5]]),
        Fragment(0, [100], [[-9.0, -10.0]]),
        Fragment(0, [100], [[-7.0, -8.0]]),
    ]
    evidence = evidence_of_fragments([2], fragments)
    assert evidence.is_explained.tolist() == [True, False, True]
    assert [row.tolist() for row in evidence.cover] == [
        [0, 7, 1000, 1007, 2000, 2007],
        [3000, 3007],
        [4000, 4007],
    ]
    assert [row.tolist() for row in evidence.likelihoods] == [
        [-13.0, -11.0],
        [-9.0, -10.0],
        [-7.0, -8.0],
    ]


@pytest.mark.parametrize(
    ("best", "length", "cap"),
    [(-8.0, 100, 4.5), (-8.1, 100, 1.5), (-24.0, 100, 1.5), (-24.1, 100, 1.0), (-4.1, 50, 1.5)],
)
def test_cap_depends_on_the_best_likelihood(best: float, length: int, cap: float) -> None:
    (row,) = evidence_of_fragments([2], [Fragment(0, [length], [[best, -200.0]])]).likelihoods
    assert row.tolist() == pytest.approx([best, best - cap])


def test_two_mates_without_explanation_have_the_cap_of_one() -> None:
    poor = [[-9.0, -20.0], [-10.0, -30.0]]
    (row,) = evidence_of_fragments([2], [Fragment(0, [100, 100], poor)]).likelihoods
    assert row.tolist() == [-19.0, -20.5]


def test_a_poor_mate_adds_its_capped_likelihood() -> None:
    mates = [[-1.0, -3.0], [-9.0, -20.0]]
    (row,) = evidence_of_fragments([2], [Fragment(0, [100, 100], mates)]).likelihoods
    assert row.tolist() == [-10.0, -13.5]


def test_an_impossible_read_prefers_no_haplotype() -> None:
    mates = [[-1.0, -3.0], [-math.inf, -math.inf]]
    both, alone = evidence_of_fragments(
        [2], [Fragment(0, [100, 100], mates), Fragment(0, [100], mates[1:])]
    ).likelihoods
    assert both.tolist() == [-1.0, -3.0]
    assert alone[0] == alone[1]


def test_two_mates_have_the_cap_of_one_read() -> None:
    alone = evidence_of_fragments([2], [Fragment(0, [100], [[-1.0, -20.0]])])
    both = evidence_of_fragments([2], [Fragment(0, [100, 100], [[-1.0, -20.0]] * 2)])
    assert alone.likelihoods[0].tolist() == [-1.0, -5.5]
    assert both.likelihoods[0].tolist() == [-2.0, -6.5]


def test_contradicting_mates_prefer_no_haplotype() -> None:
    fragment = Fragment(0, [100, 100], [[-1.0, -20.0], [-20.0, -1.0]])
    (row,) = evidence_of_fragments([2], [fragment]).likelihoods
    assert row[0] == row[1]


def test_no_reads() -> None:
    evidence = evidence_of_fragments([2, 1], [])
    assert evidence.loci.size == evidence.samples.size == 0
    assert len(evidence.likelihoods) == len(evidence.cover) == 0
