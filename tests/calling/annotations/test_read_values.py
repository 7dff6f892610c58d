"""Base qualities at positions and distances from read ends: single cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.calling.annotations.rank_sums import MISSING
from hapgpu.calling.annotations.read_values import values_at
from hapgpu.cigar.encoding import parse_cigar
from tests.calling.made_calls import joined, made_reads, query_length, reference_length

START = 100


def values_of(
    cigar: str, position: int, end: int, record: str = "", before: int = 0, after: int = 0
) -> tuple[int, int]:
    """Return the values of a read at 100 with the qualities 0, 1, 2 ..., clipped at its ends."""
    batch, reads = made_reads(np.random.default_rng(0), 1, 1)
    elements = parse_cigar(cigar)
    length = query_length(elements)
    total = before + length + after
    reads = replace(
        reads,
        base_starts=np.array([before]),
        base_ends=np.array([before + length]),
        starts=np.array([START]),
        ends=np.array([START + reference_length(elements)]),
        cigars=joined([elements], np.uint32),
        qualities=joined([np.arange(length)], np.uint8),
    )
    batch = replace(
        batch,
        cigars=joined([parse_cigar(record or f"{total}M")], np.uint32),
        bases=joined([np.full(total, ord("A"))], np.uint8),
    )
    row = np.zeros(1, dtype=np.int64)
    qualities, distances = values_at(reads, batch, row, np.array([position]), np.array([end]))
    return int(qualities[0]), int(distances[0])


@pytest.mark.parametrize(
    ("cigar", "position", "quality", "distance"),
    [
        ("10M", 100, 0, 0),
        ("10M", 104, 4, 4),
        ("10M", 105, 5, 4),
        ("10M", 109, 9, 0),
        ("10M", 99, MISSING, MISSING),
        ("10M", 110, MISSING, MISSING),
        ("4M2D6M", 103, 3, 3),
        ("4M2D6M", 104, MISSING, 4),
        ("4M2D6M", 105, MISSING, 4),
        ("4M2D6M", 106, 4, 4),
        ("4M3I3M", 103, 3, 3),
        ("4M3I3M", 104, 7, 2),
        ("3I7M", 100, 3, 3),
        ("7M3I", 106, 6, 3),
        ("2=1X2=", 102, 2, 2),
    ],
)
def test_positions(cigar: str, position: int, quality: int, distance: int) -> None:
    assert values_of(cigar, position, position + 1) == (quality, distance)


def test_clipped_bases_belong_to_the_read() -> None:
    assert values_of("10M", 102, 103, before=3, after=4) == (2, 5)
    assert values_of("10M", 108, 109, before=3, after=4) == (8, 5)
    assert values_of("10M", 102, 103, "2H13M") == (2, 4)
    assert values_of("10M", 108, 109, "13M2H", after=1) == (8, 4)
    assert values_of("10M", 102, 103, "1H5S5M4S1H", before=1, after=2) == (2, 4)


def test_a_read_that_begins_with_an_insertion_at_the_end_of_ref() -> None:
    assert values_of("3I7M", 99, 100) == (MISSING, 0)
    assert values_of("3I7M", 97, 100) == (MISSING, 0)
    assert values_of("3I7M", 98, 99) == (MISSING, MISSING)
    assert values_of("10M", 99, 100) == (MISSING, MISSING)
    assert values_of("3I7M", 99, 100, "2H10M") == (MISSING, 0)
