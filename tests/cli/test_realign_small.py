"""Thousands of tiny reads full of ties, gaps and overhangs, all of them against the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.realign_command import haplotypes_of, records, sam_of
from tests.cli.small_reads import write_small_reads
from tests.realign.realign_oracle import Rules, expected

READS = 700


@pytest.fixture(scope="module", params=["AC", "ACGTN"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_reads(tmp_path_factory.mktemp("small"), request.param, READS)


@pytest.mark.parametrize("on_reference", [False, True])
@pytest.mark.parametrize("write_all", [False, True])
@pytest.mark.parametrize("min_score", [0, 0.4])
def test_small_reads(
    small: Path,
    tmp_path: Path,
    on_reference: bool,
    write_all: bool,
    min_score: float,
) -> None:
    haplotypes = haplotypes_of(small / "haplotypes.fa", small / "reference.fa")
    options = ["--all"] * write_all + ["--min-score", str(min_score)]
    if on_reference:
        options += ["--reference", str(small / "reference.fa")]
    rules = Rules(write_all=write_all, min_score=min_score, on_reference=on_reference)
    found = records(sam_of(tmp_path, small / "reads.sam", small / "haplotypes.fa", *options))
    lines = (small / "reads.sam").read_text().splitlines()[1:]
    wanted = [record for line in lines for record in expected(line, haplotypes, rules)]
    assert len(found) == len(wanted) > READS / 3
    for record, other in zip(found, wanted, strict=True):
        assert record == other
