"""Pairs of sequences and scores for the alignment of single pairs."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align.dp.results import PairOptions
from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.dp.compiled_pairs import align_pairs
from tests.longread.align.dp.reference import PairAlignment

DEFAULT = align_scoring(2, 4, (4, 2), (24, 1))


@st.composite
def scorings(draw: st.DrawFn) -> AlignScoring:
    """Return any scores that the command line takes, with one gap cost or two."""
    match, mismatch = draw(st.integers(1, 10)), draw(st.integers(1, 24))
    gap_open, extend = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    long_gaps = gap_open, extend
    if extend > 1 and draw(st.booleans()):
        long_extend = draw(st.integers(1, extend - 1))
        lowest = gap_open + extend - long_extend + 1
        long_gaps = draw(st.integers(lowest, 127 - gap_open - extend - long_extend)), long_extend
    return align_scoring(
        match,
        mismatch,
        (gap_open, extend),
        long_gaps,
        ambiguous=draw(st.integers(0, mismatch - 1)),
        transition=draw(st.integers(0, mismatch)),
    )


@st.composite
def pairs(draw: st.DrawFn, max_length: int) -> tuple[bytes, bytes]:
    """Return a query and a target: copies with errors and gaps, sometimes unrelated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ambiguous = draw(st.sampled_from([0, 0.05]))
    target = rng.integers(0, 4, draw(st.integers(1, max_length)))
    query = noisy_copy(rng, target, draw(st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0])))
    gap = draw(st.sampled_from([0, 0, 3, 30, 100]))
    at = int(rng.integers(0, query.size + 1))
    if draw(st.booleans()):
        query = np.delete(query, slice(at, at + gap))
    else:
        query = np.insert(query, at, rng.integers(0, 4, gap))
    for sequence in (query, target):
        sequence[rng.random(sequence.size) < ambiguous] = 4
    return (bytes(query[:max_length].tolist()) or b"\0"), bytes(target.tolist())


def noisy_copy(rng: np.random.Generator, target: np.ndarray, errors: float) -> np.ndarray:
    """Return a copy with substitutions, deletions and insertions in equal parts."""
    kinds = np.where(rng.random(target.size) < errors, rng.integers(1, 4, target.size), 0)
    changed = np.where(kinds == 1, (target + rng.integers(1, 4, target.size)) % 4, target)
    copies = np.repeat(changed, np.array([1, 1, 0, 2])[kinds])
    return copies.astype(np.int64)


def alignment_of(
    query: bytes, target: bytes, options: PairOptions, scoring: AlignScoring
) -> PairAlignment:
    """Align a pair by the kernel."""
    queries, targets = Ragged.from_sequences([query]), Ragged.from_sequences([target])
    aligned = align_pairs(queries, targets, options, scoring)
    assert aligned.offsets.tolist() == [0, aligned.operations.size]
    operations = [(int(word) >> 4, int(word) & 15) for word in aligned.operations]
    return PairAlignment(*aligned.results[0].tolist(), operations=operations)


def texts_of(alignment: PairAlignment) -> list[str]:
    """Return the result as in the recorded cases."""
    *numbers, operations = astuple(alignment)
    cigar = "".join(f"{length}{'MID'[code]}" for length, code in operations)
    return [*map(str, numbers), cigar or "*"]
