"""The reference implementation against all alignments, exact fractions and GATK's formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import many
from tests.pairhmm.forward.reference import likelihood_reference, log10_likelihoods_reference
from tests.pairhmm.hmm_oracle import (
    Read,
    batches,
    groups_of,
    make_batch,
    plain_likelihoods,
    uniform_read,
)

_CONTEXT = b"ACGTAATGACGATTGCA"
_MASSIVE = 100


def _likelihood(read: Read, haplotype: bytes) -> float:
    return float(log10_likelihoods_reference(make_batch([([read], [haplotype])]))[0])


def _probabilities(read: Read, k: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    return tuple(Fraction(10.0 ** (-column[k] / 10.0)) for column in read[1:])


class _Alignments:
    """Transitions of one read and one haplotype, in exact arithmetic.

    A state is (kind, read bases used, haplotype bases used).
    """

    def __init__(self, read: Read, haplotype: bytes) -> None:
        self._read, self._haplotype = read, haplotype
        self._rows, self._columns = len(read[0]), len(haplotype)
        self._weights = [_probabilities(read, k) for k in range(self._rows)]

    def successors(self, kind: str, i: int, j: int) -> list[tuple[str, int, int, Fraction]]:
        """Return the next states, each with its probability and emission."""
        followers = []
        if i < self._rows:
            _, insertion, deletion, extend = self._weights[i]
            stay = max(Fraction(0), 1 - (insertion + deletion))
            if j < self._columns:
                step = (stay if kind == "M" else 1 - extend) * self._emission(i, j)
                followers.append(("M", i + 1, j + 1, step))
            if kind in "MI":
                followers.append(("I", i + 1, j, insertion if kind == "M" else extend))
        if i > 0 and j < self._columns and kind in "MD":
            _, _, deletion, extend = self._weights[i - 1]
            followers.append(("D", i, j + 1, deletion if kind == "M" else extend))
        return followers

    def _emission(self, i: int, j: int) -> Fraction:
        base, letter = self._read[0][i], self._haplotype[j]
        wrong = self._weights[i][0]
        return 1 - wrong if base == letter or ord("N") in {base, letter} else wrong / 3

    def sum_of_paths(self) -> Fraction:
        """Sum over all paths, one by one."""
        total = Fraction(0)
        stack = [("D", 0, j, Fraction(1, self._columns)) for j in range(self._columns + 1)]
        while stack:
            kind, i, j, probability = stack.pop()
            if i == self._rows and kind in "MI":
                total += probability
            stack += [(*state, probability * p) for *state, p in self.successors(kind, i, j)]
        return total

    def sum_backward(self) -> Fraction:
        """Sum over all paths, each state computed once."""

        @cache
        def following(kind: str, i: int, j: int) -> Fraction:
            ends = Fraction(i == self._rows and kind in "MI")
            return ends + sum(p * following(*state) for *state, p in self.successors(kind, i, j))

        starts = range(self._columns + 1)
        return sum(following("D", 0, j) for j in starts) / self._columns


def _log10(value: Fraction) -> float:
    if value == 0:
        return -math.inf
    return math.log10(value.numerator) - math.log10(value.denominator)


def _reads(longest: int) -> st.SearchStrategy[Read]:
    qualities = st.one_of(st.integers(0, 127), st.integers(0, 12))
    rows = st.lists(
        st.tuples(st.sampled_from(b"ACGNac"), *[qualities] * 4), min_size=1, max_size=longest
    )
    return rows.map(lambda read: tuple(bytes(column) for column in zip(*read, strict=True)))


def _haplotypes(longest: int) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(b"ACGNac"), min_size=1, max_size=longest).map(bytes)


@settings(max_examples=many(150))
@given(_reads(4), _haplotypes(4))
def test_likelihood_is_the_sum_over_all_alignments(read: Read, haplotype: bytes) -> None:
    expected = _log10(_Alignments(read, haplotype).sum_of_paths())
    assert _likelihood(read, haplotype) == pytest.approx(min(expected, 0.0), abs=1e-11)


@settings(max_examples=60)
@given(_reads(9), _haplotypes(9))
def test_likelihood_agrees_with_exact_arithmetic(read: Read, haplotype: bytes) -> None:
    expected = _log10(_Alignments(read, haplotype).sum_backward())
    assert _likelihood(read, haplotype) == pytest.approx(min(expected, 0.0), abs=1e-11)


@settings(max_examples=25)
@given(batches(12))
def test_fast_oracle_agrees_and_pairs_are_in_order(batch) -> None:
    expected = [
        likelihood_reference(
            *(np.frombuffer(column, dtype=np.uint8) for column in (*read, haplotype))
        )
        for reads, haplotypes in groups_of(batch)
        for read in reads
        for haplotype in haplotypes
    ]
    actual = log10_likelihoods_reference(batch)
    assert actual.tolist() == expected
    np.testing.assert_allclose(actual, np.minimum(plain_likelihoods(batch), 0.0), atol=1e-11)


@pytest.mark.parametrize(
    ("read_length", "haplotype_length"),
    list(combinations_with_replacement([1, 2, 5, 10], 2)),
)
def test_all_match_without_indels(read_length: int, haplotype_length: int) -> None:
    read = uniform_read(b"A" * read_length, 20, _MASSIVE, _MASSIVE, _MASSIVE)
    offsets = haplotype_length - read_length + 1
    expected = math.log10(offsets / haplotype_length * 0.99**read_length)
    assert _likelihood(read, b"A" * haplotype_length) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("end", [20, 22])
def test_one_mismatch_at_each_position(end: int) -> None:
    haplotype = b"TTCTCTTCTGTTGTGGCTGGTT"
    matching = haplotype[2:end]
    for position, base in enumerate(matching):
        bases, qualities = bytearray(matching), bytearray([90] * len(matching))
        bases[position] = ord("A" if base != ord("A") else "C")
        qualities[position] = 20
        _, _, *gaps = uniform_read(matching, 90, 80, 80, 80)
        # GATK's test disables the division by three.
        expected = math.log10(1 / 22 * (1 - 1e-9) ** (len(matching) - 1) * 0.01 / 3)
        actual = _likelihood((bytes(bases), bytes(qualities), *gaps), haplotype)
        assert actual == pytest.approx(expected, abs=1e-2)


def _in_context(bases: bytes) -> bytes:
    return _CONTEXT + bases + _CONTEXT


def _anchored(read: bytes, quality: int, size: int) -> bytes:
    """Return a read whose qualities are low only at the first bases after the context."""
    qualities = bytearray([_MASSIVE] * len(read))
    qualities[len(_CONTEXT) : len(_CONTEXT) + size] = bytes([quality]) * size
    return bytes(qualities)


@pytest.mark.parametrize("flank", [b"", b"GTTCACCAGATAGATACCA"])
@pytest.mark.parametrize("quality", [10, 20, 30, 40])
def test_substitution_in_context(flank: bytes, quality: int) -> None:
    haplotype = flank + _in_context(b"A") + flank
    read = _in_context(b"C")
    gaps = [bytes([_MASSIVE]) * len(read)] * 3
    actual = _likelihood((read, _anchored(read, quality, 1), *gaps), haplotype)
    expected = -quality / 10 + 0.03 + math.log10(1 / 3 / len(haplotype))
    assert actual == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("flank", [b"", b"GTTCACCAGATAGATACCA"])
@pytest.mark.parametrize("indel", ["insertion", "deletion"])
@pytest.mark.parametrize("size", [2, 3, 5, 8, 20])
@pytest.mark.parametrize(("quality", "gap"), [(20, 8), (40, 10), (50, 20)])
def test_indel_in_context(flank: bytes, indel: str, size: int, quality: int, gap: int) -> None:
    small, big = _in_context(b"C"), _in_context(b"C" * size)
    read, template = (big, small) if indel == "insertion" else (small, big)
    opening, never = _anchored(read, quality, 1), bytes([_MASSIVE]) * len(read)
    openings = (opening, never) if indel == "insertion" else (never, opening)
    haplotype = flank + template + flank
    qualities = (bytes([40]) * len(read), *openings, bytes([gap]) * len(read))
    expected = -(quality + (size - 2) * gap) / 10 + 0.03 - math.log10(len(haplotype))
    assert _likelihood((read, *qualities), haplotype) == pytest.approx(expected, abs=0.2)
