"""Thousands of tiny reads with ties, gaps and overhangs; every record is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.realign.command import body, haplotypes_of, records, sam_of
from tests.cli.realign.small_reads import write_small_reads
from tests.realign.move_oracle import Loci, expected_on_reference
from tests.realign.realign_oracle import Rules, expected, record_of

READS = 700


@pytest.fixture(scope="module", params=["AC", "ACGTN"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_reads(tmp_path_factory.mktemp("small"), request.param, READS)


def lines_in(directory: Path) -> list[str]:
    return body((directory / "reads.sam").read_text().splitlines())


@pytest.mark.parametrize("write_all", [False, True])
@pytest.mark.parametrize("min_score", [0, 0.4])
def test_haplotype_coordinates(
    small: Path, tmp_path: Path, write_all: bool, min_score: float
) -> None:
    haplotypes = haplotypes_of(small / "haplotypes.fa")
    options = ["--all"] * write_all + ["--min-score", str(min_score)]
    rules = Rules(write_all=write_all, min_score=min_score)
    found = records(sam_of(tmp_path, small / "reads.sam", small / "haplotypes.fa", *options))
    correct = [record for line in lines_in(small) for record in expected(line, haplotypes, rules)]
    assert len(found) == len(correct) > READS / 3
    for record, other in zip(found, correct, strict=True):
        assert record == other


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (["--min-score", "0"], Rules(min_score=0)),
        (["--min-score", "0.7"], Rules(min_score=0.7)),
        (["-F", "0"], Rules(excluded=0)),
        (["--always", "--min-score", "0"], Rules(always=True, min_score=0)),
        (["--always", "--min-score", "0.7"], Rules(always=True, min_score=0.7)),
    ],
)
def test_reference_coordinates(
    small: Path, tmp_path: Path, options: list[str], rules: Rules
) -> None:
    """Every record is written; records that do not move keep their text."""
    loci = Loci(haplotypes_of(small / "haplotypes.fa"), small / "reference.fa")
    arguments = ("--reference", small / "reference.fa", *options)
    found = body(sam_of(tmp_path, small / "reads.sam", small / "haplotypes.fa", *arguments))
    lines = lines_in(small)
    moved = 0
    for line, other in zip(lines, found, strict=True):
        correct = expected_on_reference(line, loci, rules)
        assert record_of(other) == correct
        if correct == record_of(line):
            assert other == line
        else:
            moved += 1
    assert moved > READS / (8 if rules.always else 40)
