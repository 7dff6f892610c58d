"""End cells by losses, against the matrices of the reference implementation."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.align import cpu
from hapgpu.realign.align.bands import gap_bounds
from hapgpu.realign.align.end_cells import find_end_cells, scratch_bytes
from hapgpu.realign.align.losses import UNKNOWN, Diagonals, EndCells, largest_loss, losses_of
from hapgpu.realign.align.windows import Windows, windows_of
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.realign.align import reference as oracle

READ, HAPLOTYPE = PRESETS["read-to-haplotype"], PRESETS["haplotype-to-reference"]
FREE_ENDS: Final = [Overhang.SOFTCLIP, Overhang.IGNORE]
LARGE: Final = cpu.WORKSPACE_BYTES
Sequences = list[tuple[bytes, bytes]]


def batch_of(sequences: Sequences) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def found_ends(sequences: Sequences, scoring: Scoring, width: int) -> EndCells:
    """Return the end cells of whole matrices."""
    pairs = batch_of(sequences)
    ends = EndCells.of_unknown(len(pairs))
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    size = scratch_bytes(int(rows.max()), int(columns.max()), width)
    scratch = np.full(size, 77, dtype=np.uint8)
    order = np.arange(len(pairs))[::-1].copy()
    find_end_cells(pairs, Diagonals(-columns, rows), scoring, order, scratch, ends, width=width)
    return ends


def assert_as_reference(sequences: Sequences, scoring: Scoring, width: int) -> int:
    """Compare losses and end cells; return how many are known."""
    ends = found_ends(sequences, scoring, width)
    scores = ends.scores(batch_of(sequences), scoring)
    known = 0
    for k, (reference, query) in enumerate(sequences):
        matrices = oracle._fill(reference, query, scoring, Overhang.SOFTCLIP)
        cell = oracle._end_cell(matrices.scores, Overhang.SOFTCLIP)
        best = matrices.scores[cell[0]][cell[1]]
        loss = (scoring.match * len(query) - best) // scoring.divisor
        assert (ends.losses[k] == UNKNOWN) == (loss >= largest_loss(width))
        if ends.losses[k] != UNKNOWN:
            known += 1
            assert (ends.rows[k], ends.columns[k]) == cell, (reference, query)
            assert (ends.losses[k], scores[k]) == (loss, best)
    return known


BASES = st.sampled_from([b"A", b"AC", b"ACGTN", bytes([0, 1, 255])]).flatmap(
    lambda letters: st.lists(st.sampled_from(list(letters)), min_size=1, max_size=24).map(bytes)
)
POSITIVE = st.integers(1, 6) | st.integers(1, 300)
USUAL_WEIGHTS = st.builds(
    lambda match, mismatch, gap_open, gap_extend: Scoring(
        match, match - mismatch, -gap_open, 1 - gap_extend
    ),
    POSITIVE,
    POSITIVE,
    POSITIVE,
    POSITIVE,
)
PAIRS = st.lists(st.tuples(BASES, BASES), min_size=1, max_size=40)


@settings(max_examples=many(150))
@given(PAIRS, USUAL_WEIGHTS | st.just(READ), st.sampled_from([1, 2]))
def test_any_pairs(sequences: Sequences, scoring: Scoring, width: int) -> None:
    assert_as_reference(sequences, scoring, width)


def read_pairs(count: int, seed: int) -> Sequences:
    """Return reads with substitutions and gaps, some longer than their reference."""
    random = Random(seed)  # noqa: S311  (the same pairs on every run)
    pairs = []
    for _ in range(count):
        text = "".join(random.choices("ACGT", k=random.randint(60, 130)))
        start, length = random.randint(-10, 60), random.randint(20, 90)
        read = ("".join(random.choices("ACGT", k=10)) + text)[max(0, start + 10) :][:length]
        for _ in range(random.randint(0, 4)):
            at, cut = random.randint(0, len(read)), random.choice([0, 1, 1, 5])
            read = read[:at] + random.choice(["", "A", "C", "GGT"]) + read[at + cut :]
        pairs.append((text.encode(), (read or "A").encode()))
    return pairs


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("scoring", PRESETS.values(), ids=str)
def test_reads(scoring: Scoring, width: int) -> None:
    known = assert_as_reference(read_pairs(70, 3), scoring, width)
    assert known > 35 or (width == 1 and losses_of(scoring).mismatch > 255 / 4)


@settings(max_examples=many(150))
@given(PAIRS, USUAL_WEIGHTS, st.sampled_from(FREE_ENDS))
def test_alignments_with_usual_weights(
    sequences: Sequences, scoring: Scoring, overhang: Overhang
) -> None:
    assert_aligned(sequences, scoring, overhang)


def assert_aligned(sequences: Sequences, scoring: Scoring, overhang: Overhang) -> None:
    pairs = batch_of(sequences)
    found = cpu.align_pairs(pairs, scoring, overhang, CpuDevice())
    assert cpu.score_pairs(pairs, scoring, overhang, CpuDevice()).tolist() == found.scores.tolist()
    rows = zip(found.scores, found.offsets, cigar_strings(found.cigars), strict=True)
    for (reference, query), row in zip(sequences, rows, strict=True):
        score, offset, cigar = oracle.align_reference(reference, query, scoring, overhang)
        text = "".join(f"{length}{letter}" for length, letter in cigar)
        assert row == (score, offset, text), (reference, query)


@pytest.mark.parametrize("overhang", FREE_ENDS, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", [READ, HAPLOTYPE, Scoring(9, -9, -20, 0)], ids=str)
def test_alignments_of_reads(scoring: Scoring, overhang: Overhang) -> None:
    assert_aligned(read_pairs(many(200), 4), scoring, overhang)


def test_losses_of_every_size() -> None:
    """Of a byte, of two and of more, in one batch."""
    random = Random(5)  # noqa: S311  (the same pairs on every run)
    text = "".join(random.choices("ACGT", k=380)).encode()
    other = bytes(random.choices(b"N", k=370))
    scoring = Scoring(201, -400, -500, -100)  # has no divisor
    sequences = [(text, text[5:]), (text, other), (text, text[:100] + other[:170])]
    pairs = batch_of(sequences)
    losses = [
        int(scoring.match * len(query) - score)
        for (_, query), score in zip(
            sequences, cpu.score_pairs(pairs, scoring, FREE_ENDS[0], CpuDevice()), strict=True
        )
    ]
    assert losses[0] == 0
    assert losses[1] > largest_loss(2) > losses[2] > largest_loss(1)
    assert_aligned(sequences, scoring, FREE_ENDS[0])


@pytest.mark.parametrize("workspace_bytes", [1, 400_000, LARGE])
@pytest.mark.parametrize("overhang", FREE_ENDS, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", [READ, HAPLOTYPE], ids=str)
def test_windows_of_any_size(
    scoring: Scoring, overhang: Overhang, workspace_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of windows that fit the memory are traced by losses, others by blocks of rows."""
    counts = []
    real = cpu._filled_windows

    def filled(windows: Windows, *rest: object) -> object:
        counts.append(len(windows.pairs))
        return real(windows, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(cpu, "WORKSPACE_BYTES", workspace_bytes)
    monkeypatch.setattr(cpu, "_filled_windows", filled)
    assert_aligned(read_pairs(300, 6), scoring, overhang)
    if workspace_bytes == 1:
        assert sum(counts) > 100
    elif workspace_bytes == LARGE:
        assert sum(counts) == 0


def test_windows_are_small() -> None:
    sequences = read_pairs(300, 7)
    pairs, ends = batch_of(sequences), found_ends(sequences, READ, 2)
    windows = windows_of(pairs, ends, READ)
    widths = windows.highest - windows.lowest + 1
    assert (widths >= 1).all()
    assert np.median(widths) < 15
    assert (windows.starts + windows.pairs.reference_lengths == ends.rows).all()
    order = windows.order()
    assert sorted(order) == list(range(300))
    sizes = windows.scratch_bytes(order, 1)
    assert sizes.size == 10
    assert windows.fit(order, 1, int(sizes[3])).tolist() == [
        bool(sizes[row // 32] <= sizes[3]) for row in range(300)
    ]
    assert windows.scratch_bytes(order[:0], 1).size == windows.fit(order[:0], 1, 9).size == 0


def test_gap_bounds() -> None:
    deficits = np.array([0, 29, 30, 34, 35, 39, 40, 54, 55, 70])
    deleted, inserted = gap_bounds(deficits, READ)
    assert deleted.tolist() == [0, 0, 1, 1, 2, 2, 3, 5, 6, 9]
    assert inserted.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]
    deleted, _ = gap_bounds(deficits, Scoring(10, -15, -30, -40))
    assert deleted.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 2]
    deleted, inserted = gap_bounds(deficits, Scoring(10, -15, -30, 0))
    assert deleted[1] == 0
    assert deleted[2] > 1 << 32
    assert inserted.tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 2, 4]
