"""Lines of PAF against Python's formatting."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.mappings.quality import ReportedMappings
from hapgpu.longread.options import MappingOptions
from hapgpu.longread.output.paf import first_paf_lines
from hapgpu.longread.output.parts import PART_BYTES, all_lines
from hapgpu.longread.output.rows import LineTargets

READS = NamedReads(
    text=np.frombuffer(b"@first/1 x\n@name|2\n", dtype=np.uint8),
    name_starts=np.array([1, 12], dtype=np.int32),
    name_lengths=np.array([7, 6], dtype=np.int32),
    lengths=np.array([1234, 0], dtype=np.int32),
)
NAMES = ["first/1", "name|2"]


class StandInIndex(NamedTuple):
    """The part of an index that lines need."""

    names: tuple[str, ...]
    lengths: NDArray[np.int64]


INDEX = StandInIndex(("chr1", "a" * 300), np.array([2**31 - 1, 7], dtype=np.int64))
NUMBER = st.integers(0, 2**31 - 1)
FRACTION = st.one_of(st.floats(0, 1, width=32), st.integers(0, 32).map(lambda k: k / 32))


class Row(NamedTuple):
    """Values of a mapping, as in `Mappings`."""

    scores: int
    counts: int
    sequences: int
    is_reverse: bool
    query_starts: int
    query_ends: int
    target_starts: int
    target_ends: int
    matches: int
    lengths: int
    second_scores: int
    is_primary: bool
    divergence: float
    quality: int


ROWS = st.lists(
    st.builds(
        Row,
        *(NUMBER, NUMBER, st.integers(0, 1), st.booleans()),
        *[NUMBER] * 7,
        *(st.booleans(), FRACTION, st.integers(0, 60)),
    ),
    max_size=4,
)


def mappings_of(reads: list[list[Row]]) -> ReportedMappings:
    rows = [row for read in reads for row in read]

    def column(name: str) -> NDArray[np.int32]:
        return np.array([getattr(row, name) for row in rows], dtype=np.int32)

    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    zeros = np.zeros(len(rows), dtype=np.int32)
    mappings = Mappings(
        **{name: column(name) for name in Row._fields[:3] + Row._fields[4:11]},
        is_reverse=column("is_reverse").astype(np.uint8),
        parents=zeros,
        n_sub=zeros,
        is_retained=zeros.astype(np.uint8),
        seeds_matched=zeros,
        seeds_expected=zeros,
        offsets=offsets,
        mean_spans=np.zeros(len(reads), dtype=np.float32),
        repeat_lengths=np.array([17, 0], dtype=np.int32),
    )
    return ReportedMappings(
        mappings=mappings,
        rows=np.arange(len(rows)),
        offsets=offsets,
        is_primary=column("is_primary").astype(np.bool_),
        divergences=np.array([row.divergence for row in rows], dtype=np.float32),
        qualities=column("quality").astype(np.uint8),
    )


def plain_line(name: str, length: int, row: Row, repeats: int) -> str:
    columns = [name, length, row.query_starts, row.query_ends, "-" if row.is_reverse else "+"]
    columns += [INDEX.names[row.sequences], INDEX.lengths[row.sequences]]
    columns += [row.target_starts, row.target_ends, row.matches, row.lengths, row.quality]
    columns += [f"tp:A:{'P' if row.is_primary else 'S'}", f"cm:i:{row.counts}"]
    columns += [f"s1:i:{row.scores}"]
    if row.is_primary:
        columns.append(f"s2:i:{row.second_scores}")
    divergence = float(np.float32(row.divergence))
    columns.append(f"dv:f:{divergence:.4f}" if divergence else "dv:f:0")
    return "\t".join(map(str, [*columns, f"rl:i:{repeats}"]))


@given(st.tuples(ROWS, ROWS), st.booleans(), st.booleans(), st.sampled_from([1, 700, PART_BYTES]))
def test_lines(
    reads: tuple[list[Row], list[Row]], secondary: bool, unmapped: bool, most: int
) -> None:
    options = replace(MappingOptions(), prints_secondary=secondary, prints_unmapped=unmapped)
    targets = LineTargets.of(INDEX.names, INDEX.lengths)
    lines = all_lines(first_paf_lines(READS, mappings_of(list(reads)), targets, options, 3, most))
    expected = []
    for name, length, rows, repeats in zip(NAMES, (1234, 0), reads, (17, 0), strict=True):
        if not rows and unmapped:
            expected.append(f"{name}\t{length}\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0\trl:i:{repeats}")
        expected += [
            plain_line(name, length, row, repeats) for row in rows if row.is_primary or secondary
        ]
    assert lines.text.tobytes().decode().splitlines() == expected
    written = [row for rows in reads for row in rows if row.is_primary or secondary]
    assert lines.counts == {
        "reads": 2,
        "bases": 1234,
        "anchors": 3,
        "records": len(written),
        "secondary": sum(not row.is_primary for row in written),
        "mapped": sum(bool(rows) for rows in reads),
    }
