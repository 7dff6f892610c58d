"""Bands of matrices: alignments in them are the best of the whole matrix, also where some tie."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np
import pytest

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.align import bands, cpu
from hapgpu.realign.align.bands import WHOLE, first_margins, next_margins
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.realign.align.reference import align_reference

HAPLOTYPE = PRESETS["haplotype-to-reference"]
SCORINGS: Final = [HAPLOTYPE, PRESETS["read-to-haplotype"], Scoring(200, -400, -2000, -11)]
FREE_ENDS: Final = [Overhang.SOFTCLIP, Overhang.IGNORE]
Sequences = list[tuple[bytes, bytes]]


def batch_of(sequences: Sequences) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def similar_pairs(count: int, seed: int) -> Sequences:
    """Return sequences that differ by a few edits, with short repeats, and sometimes with pads."""
    random = Random(seed)  # noqa: S311  (the same pairs on every run)
    pairs = []
    for _ in range(count):
        unit = "".join(random.choices("ACGT"[: random.randint(1, 4)], k=random.randint(1, 30)))
        reference = unit * random.randint(1, 80 // len(unit) + 1)
        query = reference
        for _ in range(random.randint(0, 6)):
            at, length = random.randint(0, len(query)), random.randint(0, 8)
            inserted = "".join(random.choices("ACGT", k=random.choice([0, 1, 1, length])))
            query = query[:at] + inserted + query[at + random.choice([0, 1, length]) :]
        pad = "N" * random.choice([0, 10])
        pairs.append((f"{pad}{reference}{pad}".encode(), f"{pad}{query or 'A'}{pad}".encode()))
    return pairs


def rows_of(alignments: AlignmentBatch) -> list[tuple[int, int, str]]:
    scores, offsets = alignments.scores.tolist(), alignments.offsets.tolist()
    return list(zip(scores, offsets, cigar_strings(alignments.cigars), strict=True))


def expected_rows(
    sequences: Sequences, scoring: Scoring, overhang: Overhang
) -> list[tuple[int, int, str]]:
    rows = []
    for pair in sequences:
        score, offset, cigar = align_reference(*pair, scoring, overhang)
        rows.append((score, offset, "".join(f"{length}{letter}" for length, letter in cigar)))
    return rows


@pytest.mark.parametrize("mismatches", [0, 1, 6])
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
@pytest.mark.parametrize("overhang", FREE_ENDS, ids=lambda overhang: overhang.name)
def test_bands_of_any_width_give_the_best_alignment(
    mismatches: int, scoring: Scoring, overhang: Overhang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bands, "_MISMATCHES", mismatches)
    monkeypatch.setattr(bands, "_SHARE", 1)
    sequences = similar_pairs(many(500), 31 + mismatches)
    pairs = batch_of(sequences)
    margins = first_margins(pairs, scoring, overhang)
    assert (margins != WHOLE).mean() > 1 / 4
    found = cpu.align_pairs(pairs, scoring, overhang, CpuDevice())
    assert rows_of(found) == expected_rows(sequences, scoring, overhang)


@pytest.mark.parametrize("overhang", [Overhang.INDEL, Overhang.LEADING_INDEL])
def test_no_bands_for_ends_that_are_not_free(overhang: Overhang) -> None:
    margins = first_margins(batch_of(similar_pairs(20, 1)), HAPLOTYPE, overhang)
    assert (margins == WHOLE).all()


def test_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "_MISMATCHES", 4)
    base = b"ACGGTCATTGCA" * 10
    pairs = batch_of(
        [(base, base), (base, base[:50] + base[58:]), (base[20:], base), (base, b"AC")]
    )
    margins = first_margins(pairs, HAPLOTYPE, Overhang.SOFTCLIP)
    # Four mismatches lose 1400; the deletion of 8, 337; the insertion of 20, 4000 + 469.
    assert margins.tolist() == [7, 8, 29, WHOLE]
    scores = (200 * pairs.query_lengths).astype(np.int32)
    assert next_margins(pairs, HAPLOTYPE, margins, scores)[0].all()
    # Within 7 diagonals, a loss of 1599 is the least: any path beyond loses 1600.
    is_best, wider = next_margins(pairs, HAPLOTYPE, margins, scores - np.int32(1600))
    assert is_best.tolist() == [False, True, True, True]
    assert wider.tolist()[0] == 8
    assert next_margins(pairs, HAPLOTYPE, margins, scores - np.int32(1599))[0].all()
