"""Costs of alignments on the CPU: literal cases of the rules in docs/methods/realign.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.realign.cpu import open_mover
from hapgpu.realign.mover import MoveTask
from hapgpu.realign.options import BestBy
from hapgpu.realign.projection.alignment_costs import alignment_costs
from hapgpu.realign.projection.placement import place_haplotypes
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import CpuDevice
from tests.io.sam_oracle import Row, batch_of
from tests.realign.made_moves import made_moves

SCORING = Scoring(10, -15, -30, -5)


def cost_of(read: str, cigar: str, position: int, reference: str) -> tuple[int, int]:
    """Return the score and the cost of an alignment."""
    elements = parse_cigar(cigar)
    found = alignment_costs(
        Ragged.from_sequences([read.encode()]),
        Ragged(elements, np.array([0, elements.size])),
        np.array([position]),
        Ragged.from_sequences([reference.encode()]),
        np.zeros(1, dtype=np.int32),
        SCORING,
    )
    return int(found.scores[0]), int(found.costs[0])


@pytest.mark.parametrize(("length", "cost"), [(1, 1), (11, 11), (12, 12), (13, 12), (40, 12)])
def test_a_gap_costs_at_most_twelve(length: int, cost: int) -> None:
    score = 20 * 10 - 30 - (length - 1) * 5
    read, reference = "A" * 20, "A" * (20 + length)
    assert cost_of(read, f"10M{length}D10M", 0, reference) == (score, cost)
    assert cost_of(reference, f"10M{length}I10M", 0, read) == (score, cost)


def test_clipped_and_different_bases_cost_one_each() -> None:
    assert cost_of("ACGTACGTAC", "3S7M", 3, "ACGTACGTAC") == (70, 3)
    assert cost_of("ACGTACGTAC", "2H3S7M5H", 3, "ACGTTCGTAC") == (60 - 15, 4)
    assert cost_of("A" * 20, "15S5M", 0, "A" * 5) == (50, 15)


@pytest.mark.parametrize(
    ("cigar", "position", "is_comparable"),
    [
        ("5M", 0, True),
        ("5M", 3, True),
        ("5M", 4, False),
        ("5M", -1, False),
        ("4M", 0, False),
        ("6M", 0, False),
        ("3M1N2M", 0, False),
        ("3M1P2M", 0, False),
        ("5M5D", 0, True),
    ],
)
def test_alignments_that_cannot_be_compared(
    cigar: str, position: int, *, is_comparable: bool
) -> None:
    _, cost = cost_of("AAAAA", cigar, position, "AAAAAAAA")
    assert (cost != -1) == is_comparable


def test_reads_at_loci_are_counted(tmp_path: Path) -> None:
    """Two of four: of the others, one has no CIGAR, and one is before the first locus, at 40."""
    made = made_moves(1, 0, tmp_path)
    reads = [(0, ((0, 60),)), (100, ((0, 60),)), (100, ()), (0, ((0, 30), (4, 30)))]
    rows = [
        Row(f"r{k}", 0, 0, position, 60, cigar, -1, -1, 0, "A" * 60, None, ())
        for k, (position, cigar) in enumerate(reads)
    ]
    options = RealignOptions(
        scoring=SCORING,
        best_by=BestBy.SCORE,
        min_score=0.0,
        always=False,
        write_all=False,
        require_flags=0,
        exclude_flags=0,
    )
    placement = place_haplotypes(made.haplotypes, made.reference, made.header, CpuDevice(1))
    task = MoveTask(placement, made.header, options, "x.bam")
    counts = open_mover(task, CpuDevice(1))(batch_of(rows)).counts
    assert (counts["reads"], counts["at_loci"], counts["without_bases"]) == (4, 2, 0)
