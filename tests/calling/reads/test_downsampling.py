"""Reads chosen where very many start at one position."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.reads import windows
from hapgpu.calling.reads.windows import crowded, downsampled, in_crowds, may_crowd
from tests.calling.reads.made_segments import made_row
from tests.io.sam_oracle import Row, batch_of

MAX_SPAN = 1000  # docs/methods/call.md

READS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.sampled_from(["8M", "8M", "4M999D4M"])),
    max_size=60,
).map(sorted)

Chosen = set[tuple[str, int]]


def rows_of(reads: list[tuple[int, int, str]]) -> tuple[list[Row], list[int]]:
    """Return reads with names of their own, and their samples."""
    rows = [
        made_row(f"r:{number}", position, cigar)
        for number, (position, _, cigar) in enumerate(reads)
    ]
    return rows, [sample for _, sample, _ in reads]


def chosen(rows: list[Row], samples: list[int], limit: int) -> list[bool]:
    numbers = np.array(samples, dtype=np.int32)
    return downsampled(batch_of(rows), numbers, limit).tolist()


@given(READS, st.integers(0, 6), st.randoms())
def test_counts_and_order(reads: list[tuple[int, int, str]], limit: int, random: Any) -> None:
    rows, samples = rows_of(reads)
    kept = chosen(rows, samples, limit)
    for group in set(reads):
        count = sum(k for k, read in zip(kept, reads, strict=True) if read == group)
        is_limited = limit > 0 and group[2] == "8M"
        assert count == (min(Counter(reads)[group], limit) if is_limited else Counter(reads)[group])
    shuffled = list(range(len(reads)))
    random.shuffle(shuffled)
    shuffled.sort(key=lambda k: reads[k][0])
    again = chosen([rows[k] for k in shuffled], [samples[k] for k in shuffled], limit)
    assert again == [kept[k] for k in shuffled]
    # The choice at a position needs the reads of that position only.
    later = [k for k, read in enumerate(reads) if read[0] > 1]
    part = chosen([rows[k] for k in later], [samples[k] for k in later], limit)
    assert part == [kept[k] for k in later]


def test_the_span_decides() -> None:
    rows = [made_row(f"r{k}", 5, f"8M{MAX_SPAN - 16}D8M") for k in range(6)]
    assert sum(chosen(rows, [0] * 6, 2)) == 2
    rows = [made_row(f"r{k}", 5, f"8M{MAX_SPAN - 15}D8M") for k in range(6)]
    assert sum(chosen(rows, [0] * 6, 2)) == 6


def test_names_choose_alike_at_each_position() -> None:
    rows = [made_row(f"r{k}", 5, "8M", flag=99) for k in range(40)]
    mates = [replace(row, position=9, flag=147) for row in rows]
    kept = chosen(rows + mates, [0] * 80, 7)
    assert kept[:40] == kept[40:]
    assert sum(kept) == 14


def test_names_that_differ_in_their_last_digit_are_chosen_evenly() -> None:
    rows = [made_row(f"run:1:{k:04d}", 5, "8M") for k in range(1000)]
    kept = np.flatnonzero(chosen(rows, [0] * 1000, 100))
    thirds = np.bincount(kept // 334)
    assert thirds.min() > 20
    assert np.bincount(kept % 10, minlength=10).min() > 1


def test_mates_at_one_position_are_chosen_in_the_order_of_their_flags() -> None:
    rows = [made_row("r", 5, "8M", flag=flag) for flag in (147, 99)]
    assert chosen(rows, [0, 0], 1) == [False, True]
    assert chosen(rows[::-1], [0, 0], 1) == [True, False]


def kept_in_crowds(rows: list[Row], samples: list[int], limit: int) -> list[bool]:
    """Return which reads two limits keep, with crowds of at most 5 reads at 3 positions."""
    numbers, reads = np.array(samples, dtype=np.int32), batch_of(rows)
    with patch.multiple(windows, MAX_CROWD=5, CROWD_POSITIONS=3):
        kept = downsampled(reads, numbers, limit)
        kept[in_crowds(reads, numbers, kept, limit)] = False
    return kept.tolist()


@given(READS, st.sampled_from([0, 2, 4]), st.randoms(), st.integers(0, 60))
def test_crowds(reads: list[tuple[int, int, str]], limit: int, random: Any, early: int) -> None:
    rows, samples = rows_of(reads)
    kept, before = kept_in_crowds(rows, samples, limit), chosen(rows, samples, limit)
    assert all(k <= b for k, b in zip(kept, before, strict=True))
    groups = [(at // 3, sample, cigar) for at, sample, cigar in reads]
    candidates = Counter(group for group, b in zip(groups, before, strict=True) if b)
    for group in set(groups):
        count = sum(k for k, other in zip(kept, groups, strict=True) if other == group)
        is_limited = group[2] == "8M"
        assert count == (min(candidates[group], 5) if is_limited else candidates[group])
    shuffled = list(range(len(reads)))
    random.shuffle(shuffled)
    shuffled.sort(key=lambda k: reads[k][0])
    again = kept_in_crowds([rows[k] for k in shuffled], [samples[k] for k in shuffled], limit)
    assert again == [kept[k] for k in shuffled]
    # Limits may be applied to the first reads, too: the final choice does not change.
    first = [k for k, _ in enumerate(reads[:early])]
    part = kept_in_crowds([rows[k] for k in first], [samples[k] for k in first], limit)
    rest = [k for k in range(len(reads)) if k >= len(part) or part[k]]
    again = kept_in_crowds([rows[k] for k in rest], [samples[k] for k in rest], limit)
    assert [k for k, is_kept in zip(rest, again, strict=True) if is_kept] == [
        k for k, is_kept in enumerate(kept) if is_kept
    ]


@given(READS, st.sampled_from([0, 1, 2, 4]))
def test_only_crowded_reads_are_excluded(reads: list[tuple[int, int, str]], limit: int) -> None:
    """And the choice among them alone is the same."""
    rows, samples = rows_of(reads)
    kept = kept_in_crowds(rows, samples, limit)
    starts = np.array([at for at, _, _ in reads], dtype=np.int64)
    with patch.multiple(windows, MAX_CROWD=5, CROWD_POSITIONS=3):
        among = crowded(starts, limit).tolist()
    alone = kept_in_crowds([rows[k] for k in among], [samples[k] for k in among], limit)
    expected = [True] * len(reads)
    for k, is_kept in zip(among, alone, strict=True):
        expected[k] = is_kept
    assert kept == expected


def test_the_default_has_no_crowds() -> None:
    assert not may_crowd(50)
    assert not may_crowd(100)
    assert may_crowd(101)
    assert may_crowd(0)
