"""Parts of a genomic VCF: the same lines, wherever a contig is divided."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.options import GenomicOptions
from hapgpu.calling.output.block_lines import NO_LINES, item_lines
from hapgpu.calling.output.gvcf_parts import (
    JoinedLines,
    Records,
    empty_blocks,
    gvcf_part,
    no_records,
)
from hapgpu.calling.output.reference_blocks import BlockJoiner
from hapgpu.calling.output.reference_positions import ReferencePositions
from hapgpu.calling.ploidies import Ploidies, PloidyRegion
from hapgpu.calling.reads.segments import CallingIntervals, EmptyIntervals
from hapgpu.io.genome.regions import Region

SIZE = 6000
START = 500


def made_positions(rng: np.random.Generator, changes: int, highest: int = 2) -> ReferencePositions:
    """Return positions whose likelihoods change at some of them, and ploidies up to the highest."""
    runs = np.sort(rng.integers(0, SIZE, changes))
    levels = np.searchsorted(runs, np.arange(SIZE), side="right")
    phreds = rng.integers(0, 4, (changes + 1, highest))[levels]
    ploidies = rng.integers(1, highest + 1, changes + 1)
    depths = rng.integers(0, 9, SIZE)
    bases = rng.choice(np.frombuffer(b"ACGT", dtype=np.uint8), SIZE)
    columns = depths, rng.integers(0, depths + 1), ploidies[levels], phreds
    return ReferencePositions(START, bases, *(column.astype(np.int32) for column in columns))


def made_records(rng: np.random.Generator, count: int) -> Records:
    starts = START + np.sort(rng.choice(SIZE, count, replace=False))
    ends = starts + rng.choice([1, 1, 5, 400], count)
    return Records(starts, ends, Ragged.from_sequences([f"record {at}\n" for at in starts]))


def cut(
    positions: ReferencePositions, records: Records, first: int, last: int
) -> tuple[ReferencePositions, Records]:
    own = slice(*np.searchsorted(records.starts, [START + first, START + last]))
    columns = (
        positions.bases,
        positions.depths,
        positions.alternate_depths,
        positions.ploidies,
        positions.phreds,
    )
    return (
        ReferencePositions(START + first, *(column[first:last] for column in columns)),
        Records(records.starts[own], records.ends[own], records.lines[own]),
    )


@pytest.mark.parametrize("changes", [0, 3, 40, 3000])
@pytest.mark.parametrize("count", [0, 4, 300])
@pytest.mark.parametrize(
    ("seed", "highest", "has_floors"),
    [(0, 2, False), (1, 2, False), (2, 2, True), (3, 4, False), (4, 1, True)],
)
def test_any_parts(changes: int, count: int, seed: int, highest: int, *, has_floors: bool) -> None:
    """As all positions joined at once, which have no parts."""
    rng = np.random.default_rng(seed)
    positions, records = made_positions(rng, changes, highest), made_records(rng, count)
    options = GenomicOptions(bands=(2, 3), has_floors=has_floors)
    joiner = BlockJoiner(options, highest)
    items = joiner.add(positions, records.starts, records.ends)
    rest = joiner.finish()
    whole = item_lines("c", items, records.lines, has_floors=has_floors)
    whole += item_lines("c", rest, NO_LINES, has_floors=has_floors)
    for cuts in ([], [SIZE // 2], [1, 2, 1500], sorted(rng.integers(0, SIZE, 5).tolist())):
        lines = JoinedLines(options, Ploidies(default=highest))
        parts = [
            lines.add(gvcf_part("c", *cut(positions, records, first, last), options))
            for first, last in itertools.pairwise([0, *cuts, SIZE])
        ]
        assert b"".join(parts) + lines.finish() == whole


def test_contigs_end_blocks() -> None:
    positions = made_positions(np.random.default_rng(0), 40)
    one, lines = JoinedLines(), JoinedLines()
    expected = one.add(gvcf_part("c", positions, no_records())) + one.finish()
    found = [lines.add(gvcf_part(name, positions, no_records())) for name in ("c", "d")]
    both = b"".join(found) + lines.finish()
    assert both == expected + expected.replace(b"c\t", b"d\t")


def test_a_record_longer_than_the_head_of_the_next_part() -> None:
    positions = made_positions(np.random.default_rng(0), 3000)
    starts = np.array([START])
    long = Records(starts, starts + 5000, Ragged.from_sequences(["record\n"]))
    first, second = (cut(positions, no_records(), *span)[0] for span in ((0, 100), (100, SIZE)))
    lines = JoinedLines()
    lines.add(gvcf_part("c", first, long))
    with pytest.raises(ValueError, match=r"c: a record covers 601 to 16\d\d$"):
        lines.add(gvcf_part("c", second, no_records()))


PLOIDIES = Ploidies.of(
    2,
    [
        PloidyRegion(Region("x", 450, 1000), 1),
        PloidyRegion(Region("x", 1000, 1010), 3),
        PloidyRegion(Region("y", 0, 10**6), 1),
    ],
)
"""Regions that start within the second and third 300 positions of x; y has one ploidy."""


def empty_of(*regions: Region) -> EmptyIntervals:
    intervals = empty_blocks(CallingIntervals.of(regions), PLOIDIES)
    return EmptyIntervals(0, intervals, np.full(len(intervals), ord("T"), dtype=np.uint8))


def test_empty_intervals_are_cut_where_the_ploidy_changes() -> None:
    """Each 300 positions have the largest ploidy that they touch, as GATK's inactive regions."""
    regions = Region("w", 5, 5000), Region("x", 0, 2000), Region("x", 2100, 2101)
    empty = empty_of(*regions, Region("y", 7, 5000))
    assert [(r.contig, r.start, r.end) for r in empty.intervals] == [
        ("w", 5, 5000),
        *[("x", 0, 300), ("x", 300, 900), ("x", 900, 1200), ("x", 1200, 2000), ("x", 2100, 2101)],
        ("y", 7, 5000),
    ]
    lines = JoinedLines(ploidies=PLOIDIES)
    rows = [line.split("\t") for line in lines.add(empty).decode().splitlines()]
    assert not lines.finish()
    assert [row[9] for row in rows] == [
        *["0/0:0:0:0:0,0,0", "0/0:0:0:0:0,0,0", "0:0:0:0:0,0", "0/0/0:0:0:0:0,0,0,0"],
        *["0/0:0:0:0:0,0,0", "0/0:0:0:0:0,0,0", "0:0:0:0:0,0"],
    ]
    assert [row[:8] for row in rows[2:4]] == [
        ["x", "301", ".", "T", "<NON_REF>", ".", ".", "END=900"],
        ["x", "901", ".", "T", "<NON_REF>", ".", ".", "END=1200"],
    ]


def test_empty_intervals_with_floors() -> None:
    lines = JoinedLines(GenomicOptions(has_floors=True), PLOIDIES)
    (row,) = lines.add(empty_of(Region("y", 0, 9))).decode().splitlines()
    assert row.split("\t")[8:] == ["GT:DP:GQ", "0:0:0"]


def test_no_intervals() -> None:
    assert len(empty_of().intervals) == 0
