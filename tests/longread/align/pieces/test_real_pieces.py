"""Pieces of real reads: against the reference implementation, and against minimap2's alignments."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from hapgpu.longread.options import preset
from tests.longread.align.pieces.made_plans import compiled_plans, from_batch, plain_plans, words
from tests.longread.align.pieces.real_reads import map_reads
from tests.longread.align.pieces.reference import Plan, Point

MIN_ON_PATH: Final = 0.99
"""Of the cut points: minimap2 moves gaps in repeats to the left, away from few of them."""


@pytest.mark.parametrize("name", ["map-ont", "map-pb"])
def test_plans_equal_the_reference(data_dir: Path, name: str) -> None:
    reference = data_dir / "genomes" / "lambda.NC_001416.fa.gz"
    mapped = map_reads(reference, data_dir / "longread" / "lambda_ont.fq.gz", preset(name))
    case, batch = mapped.plain(), mapped.batch
    assert from_batch(compiled_plans(case, batch), batch) == plain_plans(case)
    _, marked = words([anchor for read in case.reads for anchor in read.anchors])
    assert batch.anchors.y.tolist() == marked.tolist()


class Line(NamedTuple):
    """An alignment: the read, the strand, and the points of its path."""

    read: str
    is_reverse: bool
    path: set[Point]


def lines_of(path: Path) -> Iterator[Line]:
    """Yield the alignments of a file of PAF that are not split."""
    with gzip.open(path, "rt") as file:
        for text in file:
            name, length, start, end, strand, _, _, target, *tags = text.split("\t")
            cigar = next(tag for tag in tags if tag.startswith("cg:Z:"))
            if "zd:i:" in text:
                continue
            query = int(length) - int(end) if strand == "-" else int(start)
            yield Line(name, strand == "-", path_of(Point(query, int(target)), cigar))


def path_of(start: Point, cigar: str) -> set[Point]:
    path, (query, target) = {start}, start
    for length, letter in re.findall(r"(\d+)([MID])", cigar):
        for _ in range(int(length)):
            query, target = query + (letter != "D"), target + (letter != "I")
            path.add(Point(query, target))
    return path


def cut_points(plan: Plan) -> list[Point]:
    ends = [Point(fill.query.end, fill.target.end) for fill in plan.fills]
    return [plan.start, *ends]


@pytest.mark.parametrize(
    ("reads", "reference", "name"),
    [
        ("lambda_ont.fq.gz", "genomes/lambda.NC_001416.fa.gz", "map-ont"),
        ("ecoli_clr.fa.gz", "genomes/ecoli.NC_000913.2.fa.gz", "map-pb"),
        ("hg003_hifi.fa.gz", "longread/grch38_chr20_8900001_9200000.fa.gz", "map-hifi"),
    ],
)
def test_cut_points_lie_on_alignments(
    data_dir: Path, reads: str, reference: str, name: str
) -> None:
    directory = data_dir / "longread"
    mapped = map_reads(data_dir / reference, directory / reads, preset(name))
    batch = mapped.batch
    plans = from_batch(compiled_plans(mapped, batch), batch)
    places = [(mapped.names[row["read"]], bool(row["is_reverse"])) for row in batch.mappings]
    literal = directory / "aligned" / f"{reads.split('.', maxsplit=1)[0]}.{name}.paf.gz"
    on_path = []
    for line in lines_of(literal):
        found = [
            point in line.path
            for place, plan in zip(places, plans, strict=True)
            if place == line[:2] and plan.start in line.path
            for point in cut_points(plan)
        ]
        assert found
        on_path += found
    assert sum(on_path) >= MIN_ON_PATH * len(on_path)
