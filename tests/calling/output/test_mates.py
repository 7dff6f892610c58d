"""Mates within an active region, against a search through all pairs of reads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.calling.batches import RegionReads
from hapgpu.calling.output.called_haplotypes import NO_MATE, mates_in_regions, with_mates
from hapgpu.cigar.encoding import parse_cigar
from tests.calling.made_calls import joined, made_reads

FIRST, LAST = 0x40, 0x80


def made_regions(random: np.random.Generator) -> RegionReads:
    """Draw some reads of three active regions; only `offsets`, `starts` and `ends` are theirs."""
    counts = random.integers(0, 7, 3)
    count = int(counts.sum())
    starts = random.integers(0, 50, count)
    empty = joined([np.empty(0)] * count, np.uint32)
    numbers = np.zeros(count, dtype=np.int64)
    return RegionReads(
        offsets_of(counts), numbers, numbers, numbers, numbers, starts, starts + 10, empty, empty
    )


def slow_mates(reads: RegionReads, flags: NDArray, fragments: NDArray) -> list[int]:
    """Return the mates by comparing all pairs of reads."""

    def are_of_one(one: int, other: int) -> bool:
        same = reads.regions[one] == reads.regions[other] and fragments[one] == fragments[other]
        return bool(same and can_have[one] and can_have[other])

    can_have = [f & 1 and not f & 0x900 and f & 0xC0 in {FIRST, LAST} for f in flags.tolist()]
    found = []
    for one in range(len(reads)):
        same = [other for other in range(len(reads)) if other != one and are_of_one(one, other)]
        differs = len(same) == 1 and flags[same[0]] & 0xC0 != flags[one] & 0xC0
        found.append(same[0] if differs else NO_MATE)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_mates(seed: int) -> None:
    random = np.random.default_rng(seed)
    reads = made_regions(random)
    # Flags of the segment say nothing without the flag of a pair.
    kinds = [0x41, 0x81, 0x41, 0x81, 0x841, 0xC1, 0x1, 0, 0x40, 0x80]
    flags = random.choice(kinds, len(reads))
    fragments = random.integers(0, 4, len(reads))
    found = mates_in_regions(reads, flags.astype(np.uint16), fragments)
    assert found.tolist() == slow_mates(reads, flags, fragments)


def test_fields_of_mates() -> None:
    """A pair that overlaps, and a read whose mate is elsewhere."""
    batch, reads = made_reads(np.random.default_rng(1), 3, 1)
    lengths = [10, 8, 5]
    starts = np.array([100, 104, 103])
    cigars = joined([parse_cigar(f"{n}M") for n in lengths], np.uint32)
    reads = RegionReads(
        reads.offsets,
        reads.rows,
        reads.samples,
        reads.base_starts,
        reads.base_ends,
        starts,
        starts + lengths,
        cigars,
        reads.qualities,
    )
    batch.flags[:] = [0x1 | 0x2 | 0x20 | FIRST, 0x1 | 0x2 | 0x10 | LAST, 0x1 | 0x2 | 0x8 | 0x20]
    batch.reference_ids[:] = 4
    found = with_mates(batch, reads, np.array([1, 0, NO_MATE]))
    assert found.flags.tolist() == [0x1 | 0x2 | 0x20 | FIRST, 0x1 | 0x2 | 0x10 | LAST, 0x1]
    assert found.mate_reference_ids.tolist() == [4, 4, -1]
    assert found.mate_positions.tolist() == [104, 100, -1]
    assert found.template_lengths.tolist() == [12, -12, 0]
