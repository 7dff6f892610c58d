"""Checks of diagonals and bands that the emulated kernels and those on a GPU share."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.realign.align.band_runs import Runner
from tests.realign.align.ended_pairs import Ended, ended, made_sequences

READ = PRESETS["read-to-haplotype"]


def made_case(scoring: Scoring, overhang: Overhang, count: int) -> Ended:
    return ended(made_sequences(count, sum(scoring.weights) + overhang), scoring, overhang)


def check_diagonals(runner: Runner, scoring: Scoring, overhang: Overhang, case: Ended) -> None:
    """Check that tracebacks without a gap are found, and no others."""
    found = runner.diagonals(case, scoring, overhang)
    rows = zip(case.expected, case.is_diagonal, strict=True)
    assert found == [row if is_diagonal else None for row, is_diagonal in rows]


def check_large_weights(runner: Runner, overhang: Overhang) -> None:
    """Check scores that GATK's lowest score raises: of these, only some diagonals are found."""
    for match in (0, 3, 10**6):
        scoring = Scoring(match, -(10**8), -(10**8), -(10**8))
        case = made_case(scoring, overhang, 60)
        found = runner.diagonals(case, scoring, overhang)
        rows = zip(case.expected, case.is_diagonal, strict=True)
        expected = [row if is_diagonal else None for row, is_diagonal in rows]
        assert all(row in {None, other} for row, other in zip(found, expected, strict=True))
        assert any(row is not None for row in found)
        assert sorted(runner.bands(case, range(60), scoring, overhang)[1]) == [*range(60)]


def check_bands(runner: Runner, scoring: Scoring, overhang: Overhang, case: Ended) -> None:
    """Check alignments in bands against the matrix; the last of the pairs is not asked for."""
    count = len(case.pairs)
    found, left, _ = runner.bands(case, range(count - 1), scoring, overhang)
    others = {*left, count - 1}
    assert len(others) == len(left) + 1
    rows = enumerate(case.expected)
    assert found == [None if p in others else row for p, row in rows]


def gapped_pair(gap: int, size: int, seed: int) -> tuple[bytes, bytes]:
    """Make a pair with a gap, of the query or of the reference, and a few mismatches."""
    random = Random(seed)  # noqa: S311  (the same pairs on every run)
    bases = random.choices(b"ACGT", k=size + gap)
    at = random.randint(size // 3, size // 2)
    other = bases[:at] + bases[at + gap :]
    for _ in range(random.randint(0, 3)):
        other[random.randrange(size)] = random.choice(b"ACGT")
    pair = bytes(bases), bytes(other)
    return pair if seed % 2 else pair[::-1]


def check_long_gaps(runner: Runner, overhang: Overhang) -> None:
    """Check bands of all numbers of lanes, and long ones; wider ones are left."""
    gaps = [2, *range(1, 165, 9), 300]
    sizes = [1500, *(60 + 3 * gap for gap in gaps[1:])]
    sequences = [
        gapped_pair(gap, size, seed)
        for seed, (gap, size) in enumerate(zip(gaps * 2, sizes * 2, strict=True))
    ]
    case = ended(sequences, READ, overhang)
    found, left, _ = runner.bands(case, range(len(sequences)), READ, overhang)
    widest = len(gaps) - 1
    assert sorted(left) == [widest, 2 * widest + 1]
    assert found == [None if p in left else row for p, row in enumerate(case.expected)]


def check_what_is_left(runner: Runner) -> None:
    """Check that pairs without an end cell, with large scores or with very wide bands are left."""
    case = made_case(READ, Overhang.SOFTCLIP, 20)
    score, row, column = case.ends
    is_known = np.arange(20) % 3 > 0
    unknown = replace(case, ends=(score, np.where(is_known, row, -1).astype(np.int32), column))
    found, left, _ = runner.bands(unknown, range(20), READ, Overhang.SOFTCLIP)
    assert {*np.flatnonzero(~is_known).tolist()} <= {*left}
    rows = enumerate(case.expected)
    assert found == [None if p in left else row for p, row in rows]
    diagonal = runner.diagonals(unknown, READ, Overhang.SOFTCLIP)
    assert [row is not None for row in diagonal] == (is_known & case.is_diagonal).tolist()
    for weights in (Scoring(10**5, -1, -1, -1), Scoring(1, -1, 1, -1)):
        assert sorted(runner.bands(case, [5, 3], weights, Overhang.SOFTCLIP)[1]) == [3, 5]
    wide = Scoring(1, -1, -1, 0)
    long = ended([(b"A" * 700, b"C" * 600)], wide, Overhang.INDEL)
    assert runner.bands(long, [0], wide, Overhang.INDEL)[1] == [0]
    assert runner.bands(case, [], READ, Overhang.SOFTCLIP)[1] == []


def check_small_pool(runner: Runner) -> None:
    """Check that runs are counted where the pool is too small."""
    case = made_case(READ, Overhang.SOFTCLIP, 20)
    found, _, used = runner.bands(case, range(20), READ, Overhang.SOFTCLIP)
    cigars = [row[2] for row in found if row]
    runs = sum(character.isalpha() for cigar in cigars for character in cigar)
    assert used == 3 * 20 + runs
    assert runner.bands(case, range(20), READ, Overhang.SOFTCLIP, runs)[0] == found
    assert runner.bands(case, range(20), READ, Overhang.SOFTCLIP, runs - 1)[2] == used
