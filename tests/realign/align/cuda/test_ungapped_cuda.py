"""Alignments without a gap that a GPU finds, against the CPU and `bytes.rfind`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays import cuda as ragged
from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda import outputs, ungapped
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS, Outputs
from hapgpu.realign.align.cuda.ungapped import UngappedRules, ungapped_alignments
from hapgpu.realign.align.ungapped import UNPROVED
from hapgpu.realign.align.ungapped import ungapped_alignments as on_the_cpu
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.emulation.emulator import emulate
from tests.realign.align.cuda.made_batches import uploaded

READ = PRESETS["read-to-haplotype"]
NO_SCORE = -7
LENGTHS = st.sampled_from([1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 70, 96, 97, 200])
ALPHABETS = st.sampled_from([b"A", b"AC", b"ACGT", b"acgtN", b"Aaq", b"\x00\xff\x80\x7fA"])

Found = list[tuple[int, int] | None]


@pytest.fixture(scope="module", params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def find(request: pytest.FixtureRequest) -> Iterator[Callable[..., Found]]:
    """Return a function that finds offset and score of each alignment, on a GPU or its stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "emulated":
            emulate(patch, outputs, ragged, ungapped)
        yield found_in


def found_in(
    sequences: Sequence[tuple[bytes, bytes]], scoring: Scoring, *, reaches_lowest: bool = False
) -> Found:
    """Return offset and score of each alignment that is found; check its CIGAR."""
    pairs = uploaded(batch_of(sequences))
    count = len(sequences)
    filled = Outputs.for_pairs(count, 5)
    filled.scores.fill(NO_SCORE)
    rules = UngappedRules.of(scoring, Overhang.SOFTCLIP, reaches_lowest=reaches_lowest)
    is_left = np.zeros(count, dtype=np.bool_)
    is_left[host(ungapped_alignments(pairs, rules, filled))] = True
    scores, offsets, pool = host(filled.scores), host(filled.offsets), host(filled.pool)
    starts, counts = host(filled.cigar_starts), host(filled.cigar_counts)
    assert host(filled.pool_used).tolist() == [FIXED_RUNS * count]
    assert (scores[is_left] == NO_SCORE).all()
    for pair in np.flatnonzero(~is_left):
        assert (starts[pair], counts[pair]) == (FIXED_RUNS * pair, 1)
        assert pool[starts[pair]] == len(sequences[pair][1]) << 4
    return [
        None if left else (int(offset), int(score))
        for left, offset, score in zip(is_left, offsets, scores, strict=True)
    ]


def host(values: object) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else values.get()  # type: ignore[attr-defined]


def batch_of(sequences: Sequence[tuple[bytes, bytes]]) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def expected_of(sequences: Sequence[tuple[bytes, bytes]], scoring: Scoring) -> Found:
    offsets, scores = on_the_cpu(batch_of(sequences), scoring, Overhang.SOFTCLIP)
    return [
        None if offset == UNPROVED else (offset, score)
        for offset, score in zip(offsets.tolist(), scores.tolist(), strict=True)
    ]


def sampled(
    rng: np.random.Generator, letters: bytes, rows: int, columns: int, changes: int
) -> tuple[bytes, bytes]:
    """Draw a reference, and a query that is a part of it, maybe beyond its ends, with changes."""
    alphabet = np.frombuffer(letters, dtype=np.uint8)
    around = rng.choice(alphabet, rows + 6)
    start = int(rng.integers(0, max(1, around.size - columns + 1)))
    query = around[start : start + columns].copy()
    for at in rng.integers(0, query.size, changes):
        query[at] = rng.choice(alphabet)
    return around[3:-3].tobytes(), query.tobytes()


SIZES = st.lists(st.tuples(LENGTHS, LENGTHS, st.integers(0, 4)), min_size=1, max_size=12)
WEIGHTS = st.sampled_from([*PRESETS.values(), Scoring(1, 0, -9, 0), Scoring(3, -200, -999, -1)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), ALPHABETS, SIZES, WEIGHTS)
def test_as_on_the_cpu(
    find: Callable[..., Found],
    seed: int,
    letters: bytes,
    sizes: list[tuple[int, int, int]],
    scoring: Scoring,
) -> None:
    rng = np.random.default_rng(seed)
    sequences = [sampled(rng, letters, *size) for size in sizes]
    assert find(sequences, scoring) == expected_of(sequences, scoring)


def test_every_offset_of_a_mismatch(find: Callable[..., Found]) -> None:
    """Letters may differ in any of eight bits; two of them are compared first."""
    reference = np.random.default_rng(5).choice(np.frombuffer(b"ACGT", dtype=np.uint8), 80)
    sequences = []
    for length in (31, 32, 33, 64, 65):
        for at in range(length):
            query = reference[9 : 9 + length].copy()
            query[at] ^= 1 << at % 8
            sequences.append((reference.tobytes(), query.tobytes()))
    found = find(sequences, READ)
    assert found == [(9, 10 * len(query) - 25) for _, query in sequences]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), ALPHABETS, SIZES, st.booleans())
def test_exact_matches_of_other_weights(
    find: Callable[..., Found],
    seed: int,
    letters: bytes,
    sizes: list[tuple[int, int, int]],
    reaches_lowest: bool,
) -> None:
    """Without the proof, GATK's rule holds: the last position of an exact match."""
    rng = np.random.default_rng(seed)
    sequences = [sampled(rng, letters, *size) for size in sizes]
    scoring = READ if reaches_lowest else Scoring(-3, 2, -4, -1)
    positions = [reference.rfind(query) for reference, query in sequences]
    assert find(sequences, scoring, reaches_lowest=reaches_lowest) == [
        None if position < 0 else (position, scoring.match * len(query))
        for position, (_, query) in zip(positions, sequences, strict=True)
    ]


def test_repeats(find: Callable[..., Found]) -> None:
    """The last of several positions; and many positions that match up to the last base."""
    sequences = [
        (b"ACGT" * 100, b"ACGT" * 10),
        (b"A" * 300, b"A" * 290 + b"C"),
        (b"A" * 300 + b"C", b"A" * 290 + b"C"),
        (b"C" + b"A" * 300, b"C" + b"A" * 290),
        (b"A" * 300, b"a" * 290),
        (b"AC", b"ACG"),
    ]
    assert find(sequences, READ) == expected_of(sequences, READ)
    assert find(sequences, READ)[0] == (360, 400)
