"""Order of many reads of an active region against plain sorting, fragments against a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.finalized import finalized_reads, reclipped_reads
from hapgpu.calling.reads.read_order import fragments_of, sorted_reads
from tests.calling.reads.clipping_oracle import finalized, reclipped
from tests.calling.reads.made_segments import (
    made_row,
    plain_clipped,
    plain_reads,
    regions_of,
    segment_of,
    trimmed_to,
)
from tests.io.sam_oracle import Row, batch_of

PREFIXES = ["", "r", "instrum", "instrume", "instrument:12:FLOWCELL", "instrument:12:FLOWCELL:1:2"]
ENDS = ["", "1", "2", "10", ":1101:1023:2044", ":1101:1023:20440", ":1101:1023:2045"]
Item = TypeVar("Item")
FLAGS = [0, 16, 33, 17, 97, 145, 2081]


def made_rows(rng: np.random.Generator, count: int, positions: range) -> list[Row]:
    """Return reads of which many have one start, and many one name."""

    def one_of(values: Sequence[Item]) -> Item:
        return values[int(rng.integers(len(values)))]

    reads = [
        made_row(
            one_of(PREFIXES) + one_of(ENDS),
            one_of(positions),
            one_of(["30M", "12M2D18M", "12M3I15M"]),
            flag=one_of(FLAGS),
            mapping_quality=one_of([60, 60, 20]),
            mate_reference=one_of([0, 0, 1]),
            mate_position=one_of([90, 110, 300]),
            template_length=one_of([0, 40, -40]),
            bases="".join(one_of("ACGT") for _ in range(30)),
        )
        for _ in range(count)
    ]
    return sorted(reads, key=lambda read: read.position)


@pytest.mark.parametrize("count", [8, 9, 16, 17, 40, 300])
def test_many_reads(count: int) -> None:
    """So many reads are sorted in parts, which are merged."""
    rng = np.random.default_rng(count)
    reads = made_rows(rng, count, range(90, 120, 5))
    samples = rng.integers(2, size=len(reads)).tolist()
    spans, inner = [(80, 150), (104, 118)], [(100, 125), (106, 110)]
    segment = segment_of(reads, samples)
    clipped = finalized_reads(segment, regions_of(spans), AssemblyOptions())
    expected = [finalized(reads, samples, span) for span in spans]
    assert plain_reads(clipped) == [plain_clipped(region) for region in expected]
    again = reclipped_reads(clipped, segment, trimmed_to([0, 1], inner))
    trimmed = [reclipped(*each, 10) for each in zip(expected, inner, strict=True)]
    assert plain_reads(again) == [plain_clipped(region) for region in trimmed]


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=60), max_size=4))
def test_any_order_of_starts(regions: list[list[tuple[int, int]]]) -> None:
    """Each clipped read has a start and a number of bases; its read is that of its number."""
    pairs = [pair for region in regions for pair in region]
    offsets = np.cumsum([0, *map(len, regions)])
    rng = np.random.default_rng(len(pairs))
    reads = made_rows(rng, len(pairs), range(1))
    rows = rng.permutation(len(pairs))
    starts, lengths = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    found, ends = sorted_reads(batch_of(reads), rows, starts, lengths, offsets, min_bases=2)
    expected: list[list[int]] = []
    for first, last in pairwise(offsets.tolist()):
        kept = [k for k in range(first, last) if lengths[k] >= 2]
        expected.append(sorted(kept, key=lambda k: (starts[k], *_key(reads[rows[k]]), rows[k])))
    assert found.tolist() == [k for region in expected for k in region]
    assert np.diff(ends).tolist() == [*map(len, expected)]


def _key(read: Row) -> tuple[object, ...]:
    has_mate = read.flag & 9 == 1
    mate = (read.mate_reference, read.mate_position) if has_mate else (-1, -1)
    more = read.flag, read.mapping_quality, mate, read.template_length
    return bool(read.flag & 16), read.name.encode(), *more


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_fragments_have_one_name_and_sample(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reads = made_rows(rng, count, range(50))
    samples = rng.integers(2, size=len(reads)).tolist()
    rows = rng.integers(count, size=count // 2)
    found = fragments_of(batch_of(reads), np.array(samples, np.int32), rows)
    first: dict[tuple[str, int], int] = {}
    keys = [(read.name, sample) for read, sample in zip(reads, samples, strict=True)]
    for row in rows.tolist():
        first.setdefault(keys[row], row)
    asked = set(rows.tolist())
    expected = [first[key] if row in asked else 0 for row, key in enumerate(keys)]
    assert found.tolist() == expected
