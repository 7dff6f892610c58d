"""Mates of reads that `hapgpu realign --reference` moves, in files of every kind and order."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pysam
import pytest

from tests.cli.realign.command import COMMAND, realign
from tests.realign.made_pairs import FORMATS, TIMES, MadePairs, make_pairs
from tests.realign.mate_claims import fixmate_changes
from tests.realign.record_claims import Rules, compare, findings
from tests.realign.sam_records import SECONDARY, SUPPLEMENTARY, read_records

MOVING = ("near", "two_loci", "far", "other_contig", "other_locus", "unmapped", "single")
MOVING_TOO = ("both", "hard", "adaptor", "supplementary", "secondary", "edge_start", "edge_end")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadePairs:
    return make_pairs(tmp_path_factory.mktemp("pairs"))


class Realigned(dict[str, Path]):
    """The output for each file, by format, made on first use."""

    def __init__(self, made: MadePairs, directory: Path) -> None:
        super().__init__()
        self._made, self._directory = made, directory

    def __missing__(self, name: str) -> Path:
        self[name] = run(self._made, name, self._directory)
        return self[name]


@pytest.fixture(scope="module")
def realigned(made: MadePairs, tmp_path_factory: pytest.TempPathFactory) -> Realigned:
    return Realigned(made, tmp_path_factory.mktemp("realigned"))


def run(made: MadePairs, name: str, directory: Path, *options: str) -> Path:
    """Realign one of the files to BAM; SAM goes through standard input."""
    reads, out = made.reads[name], directory / f"{name}.bam"
    given: list[str | Path] = [
        made.haplotypes,
        "--reference",
        made.reference,
        "--no-PG",
        "-o",
        out,
        *options,
    ]
    if name != "sam":
        realign(reads, *given)
        return out
    command = [*COMMAND, "-", *map(str, given), "-q", "--device", "cpu"]
    with reads.open() as text:
        subprocess.run(command, check=True, stdin=text)
    return out


def plain(made: MadePairs, name: str, directory: Path) -> Path:
    """Return a file of the input's records as samtools decodes them."""
    if name != "cram":
        return made.reads[name]
    out = directory / "decoded.bam"
    reference = str(made.reference)
    options = ["-b", "--no-PG", "-T", reference, "-o", str(out)]
    pysam.view(*options, str(made.reads[name]), catch_stdout=False)
    return out


@pytest.mark.parametrize("name", FORMATS)
def test_every_claim_holds(
    made: MadePairs, realigned: Realigned, tmp_path: Path, name: str
) -> None:
    before = plain(made, name, tmp_path)
    assert findings(before, realigned[name], made.reference) == []


@pytest.mark.parametrize("name", FORMATS)
def test_fixmate_changes_nothing(
    made: MadePairs, realigned: Realigned, tmp_path: Path, name: str
) -> None:
    assert fixmate_changes(made.reads[name], tmp_path) == {}
    assert fixmate_changes(realigned[name], tmp_path) == {}


@pytest.mark.parametrize("name", FORMATS)
def test_order_makes_no_difference(realigned: Realigned, name: str) -> None:
    records = [
        sorted((r.columns[:11], sorted(r.columns[11:])) for r in read_records(realigned[x]))
        for x in ("sorted", name)
    ]
    assert records[0] == records[1]


def test_reads_of_every_kind_move(made: MadePairs, realigned: Realigned) -> None:
    """Reads move, and so the other tests check something."""
    found = compare(made.reads["sorted"], realigned["sorted"], made.reference)
    kinds = Counter(match.before.name.rstrip("0123456789") for match in found.moved)
    for kind in MOVING + MOVING_TOO:
        assert kinds[kind] >= TIMES // 4, kind
    assert not kinds["away"]
    assert not kinds["duplicate"]


@pytest.mark.parametrize("name", ["sorted", "shuffled"])
@pytest.mark.parametrize("options", [("-F", "0"), ("--always",), ("--always", "-F", "0")])
def test_claims_with_options(
    made: MadePairs, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    """With `-F 0`, supplementary and secondary records move, too."""
    out = run(made, name, tmp_path, *options)
    rules = Rules(always="--always" in options)
    assert findings(made.reads[name], out, made.reference, rules) == []
    assert fixmate_changes(out, tmp_path) == {}
    if "-F" in options:
        moved = compare(made.reads[name], out, made.reference).moved
        assert any(match.before.flag & SUPPLEMENTARY for match in moved)


@pytest.mark.parametrize("name", FORMATS)
def test_reads_at_loci_only(
    made: MadePairs, realigned: Realigned, tmp_path: Path, name: str
) -> None:
    out = run(made, name, tmp_path, "--loci-only")
    rules = Rules(loci=made.loci, loci_only=True)
    assert findings(plain(made, name, tmp_path), out, made.reference, rules) == []
    everything = {tuple(sorted(r.columns)) for r in read_records(realigned[name])}
    some = [tuple(sorted(r.columns)) for r in read_records(out)]
    assert 0 < len(some) < len(everything)
    assert set(some) <= everything


def test_input_is_valid(made: MadePairs, tmp_path: Path) -> None:
    """The generator makes the named cases, the same on every run."""
    again = make_pairs(tmp_path)
    for name in ("sorted", "by_name", "shuffled"):
        assert made.reads[name].read_bytes() == again.reads[name].read_bytes()
    records = read_records(made.reads["sorted"])
    assert sum(bool(r.flag & SECONDARY) for r in records) == 2 * TIMES
    assert sum(r.value("SA") is not None for r in records) == 2 * TIMES
    assert findings(made.reads["sorted"], made.reads["sorted"], made.reference) == []
