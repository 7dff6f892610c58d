"""`hapgpu call --gvcf` with ploidies: records and blocks agree, and cover each position once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in

NON_REF = "<NON_REF>"
LENGTH = 20_000
REGIONS = "chr20\t5000\t9000\t1\nchr20\t8900\t12000\t3\nchr20\t17000\t18000\t4\n"
FAR = 400
"""Bases that an active region, or an inactive one, may reach beyond a border, at most."""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


def ploidy_at(position: int) -> int:
    """Return the ploidy of a position, from 0, by the regions alone."""
    rows = [tuple(map(int, line.split("\t")[1:])) for line in REGIONS.splitlines()]
    return max((ploidy for start, end, ploidy in rows if start <= position < end), default=2)


def fields_of(row: list[str]) -> dict[str, str]:
    return dict(zip(row[8].split(":"), row[9].split(":"), strict=True))


def copies_of(row: list[str]) -> int:
    return len(fields_of(row)["GT"].replace("|", "/").split("/"))


def check_likelihoods(row: list[str]) -> None:
    """PL has a value per genotype, GQ follows from the smallest two."""
    fields, alleles = fields_of(row), 1 + len(row[4].split(","))
    phreds = sorted(map(int, fields["PL"].split(",")))
    copies = copies_of(row)
    assert len(phreds) == math.comb(copies + alleles - 1, copies)
    assert phreds[0] == 0
    assert int(fields["GQ"]) == min(phreds[1], 99)


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4, 10])
@pytest.mark.parametrize("output", ["--gvcf", "--bp-resolution"])
def test_one_ploidy(example: Inputs, tmp_path: Path, ploidy: int, output: str) -> None:
    text = called(tmp_path, *example, output, "--ploidy", str(ploidy))
    rows = records_in(text)
    assert {copies_of(row) for row in rows} == {ploidy}
    for row in rows:
        check_likelihoods(row)
    assert sum(row[4] != NON_REF for row in rows) >= 9
    assert ("ID=PGT" in text) == (ploidy == 2)


@pytest.mark.parametrize("output", ["--gvcf", "--bp-resolution"])
def test_regions(example: Inputs, tmp_path: Path, output: str) -> None:
    """Ploidies far from borders are those of the regions; each position is covered once."""
    bed = tmp_path / "ploidies.bed"
    bed.write_text(REGIONS)
    rows = records_in(called(tmp_path, *example, output, "--ploidy-regions", bed))
    seen = set[int]()
    for row in rows:
        check_likelihoods(row)
        start = int(row[1]) - 1
        near = {ploidy_at(at) for at in range(max(start - FAR, 0), start + FAR, 50)}
        assert copies_of(row) in near
        seen.add(copies_of(row))
    assert seen == {1, 2, 3, 4}
    if output == "--bp-resolution":
        assert [int(row[1]) for row in rows] == list(range(1, LENGTH + 1))
        return
    covered = []
    for row in rows:
        end = int(row[1]) + len(row[3])
        if row[7].startswith("END="):
            end = int(row[7].removeprefix("END=")) + 1
        covered.extend(range(int(row[1]), end))
    assert covered == list(range(1, LENGTH + 1))
