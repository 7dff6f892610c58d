"""Thousands of tiny reads full of ties, gaps and overhangs, all of them against the oracle."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pysam
import pytest

from tests.cli.realign_command import haplotypes_of, records, sam_of
from tests.realign.realign_oracle import Rules, expected

LOCI = 12
WINDOW = 30
STEP = 40  # windows closer than a read is long, so that some reads meet two loci
READS = 700


def text(random: Random, length: int, letters: str) -> str:
    return "".join(random.choices(letters, k=length))


def changed(random: Random, bases: str) -> str:
    """Make an allele: a few substitutions, deletions and insertions."""
    for _ in range(random.randint(0, 3)):
        at = random.randrange(len(bases))
        gone, new = random.randint(0, 4), text(random, random.randint(0, 4), "AC")
        bases = (bases[:at] + new + bases[at + gone :]) or "A"
    return bases


def cigar_of(random: Random, length: int) -> str:
    left, right = (random.choice([0, 0, 0, random.randint(1, 6)]) for _ in range(2))
    middle = length - left - right
    gap = random.choice(["", "", "2D", "30N"])
    inner = f"{middle // 2}M{gap}{middle - middle // 2}M" if gap else f"{middle}M"
    return "".join((f"{left}S" if left else "", inner, f"{right}S" if right else ""))


def read_line(random: Random, number: int, reference: str) -> str:
    start = random.randrange(len(reference) - 30)
    bases = changed(random, reference[start : start + random.randint(16, 28)])
    bases = (bases + "ACCAACCCAACCCCAA")[: max(16, len(bases))]
    flag = random.choice([0, 0, 0, 16, 99, 147, 1024, 4, 4, 73, 137, 69])
    nowhere = flag & 4 and random.random() < 0.5
    place = ("*", 0, 0, "*") if nowhere else ("chr", start + 1, 37, cigar_of(random, len(bases)))
    contig, position, quality, cigar = place
    tags = random.choice(["", "\tNM:i:7\tMC:Z:5M\tMQ:i:3", "\tXX:Z:kept\tXS:i:3\tAS:i:300"])
    fields = (flag, contig, position, quality, cigar, "*", 0, 0, bases)
    quality_text = "".join(chr(33 + random.randrange(40)) for _ in bases)
    return "\t".join(map(str, (f"r{number}", *fields, quality_text))) + tags


@pytest.fixture(scope="module", params=["AC", "ACGTN"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a reference, haplotypes, and reads in SAM."""
    random = Random(7)  # noqa: S311  (the same data on every run)
    folder = tmp_path_factory.mktemp("small")
    reference = text(random, LOCI * STEP + 60, request.param)
    (folder / "reference.fa").write_text(f">chr\n{reference}\n")
    pysam.faidx(str(folder / "reference.fa"))
    with (folder / "haplotypes.fa").open("w") as out:
        for locus in range(LOCI):
            start = 20 + locus * STEP
            window = reference[start : start + WINDOW]
            for number, bases in enumerate(
                [window, changed(random, window), window[:7] + "CAC" + window[9:]]
            ):
                out.write(f">h{locus}_{number} chr:{start + 1}-{start + WINDOW}\n{bases}\n")
    lines = [read_line(random, number, reference) for number in range(READS)]
    header = f"@SQ\tSN:chr\tLN:{len(reference)}"
    (folder / "reads.sam").write_text("\n".join([header, *lines, ""]))
    return folder


@pytest.mark.parametrize("on_reference", [False, True])
@pytest.mark.parametrize("write_all", [False, True])
@pytest.mark.parametrize("min_score", [0, 0.4])
def test_small_reads(
    small: Path,
    tmp_path: Path,
    on_reference: bool,  # noqa: FBT001
    write_all: bool,  # noqa: FBT001
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
