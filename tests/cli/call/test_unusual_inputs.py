"""Unusual reads and references: each is excluded, or called with bounded time and memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.cli.call.command import called, records_in, status_of, summary_of
from tests.cli.call.made_reads import (
    Alignment,
    as_bam,
    matches,
    random_bases,
    with_errors,
    with_snps,
    write_reference,
    write_sam,
)
from tests.cli.in_process import error_of_command

LENGTH = 3000
READ = 100
SNPS = (500, 1500, 2500)
RANDOM = np.random.default_rng(19)
REFERENCE = random_bases(RANDOM, LENGTH)
HAPLOTYPE = with_snps(REFERENCE, SNPS)
GOOD = matches(HAPLOTYPE, range(0, LENGTH - READ + 1, 4), READ)
EXPECTED = [f"{at + 1} {REFERENCE[at]} {HAPLOTYPE[at]} 1/1" for at in SNPS]


def calls_of(
    directory: Path, alignments: Sequence[Alignment], *options: str, reference: str = REFERENCE
) -> str:
    """Return the output for reads of a contig."""
    sam = write_sam(directory / "reads.sam", alignments, {"c": len(reference)})
    fasta = write_reference(directory / "reference.fa", c=reference)
    return called(directory, sam, fasta, *options)


def test_usual_reads(tmp_path: Path) -> None:
    assert summary_of(calls_of(tmp_path, GOOD)) == EXPECTED


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (REFERENCE.lower(), EXPECTED),
        ("N" * LENGTH, []),
        (f"{REFERENCE[:530]}RYKMSWBDHV{REFERENCE[540:]}", EXPECTED),
        (f"{REFERENCE[:500]}N{REFERENCE[501:]}", EXPECTED[1:]),
        ("".join(base if at % 7 else "N" for at, base in enumerate(REFERENCE)), []),
    ],
    ids=["lower", "all_n", "iupac", "n_at_a_snp", "many_n"],
)
def test_letters_of_the_reference(tmp_path: Path, reference: str, expected: list[str]) -> None:
    assert summary_of(calls_of(tmp_path, GOOD, reference=reference)) == expected


@pytest.mark.parametrize("length", [1, 2, 5, 9, 10, 11, 25, 30, 60])
def test_short_contigs(tmp_path: Path, length: int) -> None:
    """Soft clips reach over both ends of the contig."""
    reference = REFERENCE[:length]
    middle = length // 2
    read = HAPLOTYPE[1000:1050] + with_snps(reference, [middle]) + HAPLOTYPE[2000:2050]
    reads = [Alignment(f"r{number}", 0, f"50S{length}M50S", read) for number in range(40)]
    found = summary_of(calls_of(tmp_path, reads, reference=reference))
    position = f"{middle + 1} {reference[middle]} "
    assert [row.startswith(position) for row in found] == [True] * (length >= 30)


def test_reads_that_are_excluded(tmp_path: Path) -> None:
    other = REFERENCE[450:550]
    cigars = ["100I", "100S", "0M100M", "50M100N50M", "50M1I1D49M", "50M1D1I49M", "1D100M"]
    cigars += ["100M1D", "*", "40S20I40S", "10S1D90M"]
    odd = [Alignment(f"o{number}", 450, cigar, other) for number, cigar in enumerate(cigars * 20)]
    odd += [Alignment(f"e{number}", LENGTH - 50, "100M", other) for number in range(20)]
    odd += [Alignment(f"b{number}", 450, "100M", "*", "*") for number in range(20)]
    odd += [Alignment(f"f{k}", 450, "100M", other, flag=flag) for k, flag in enumerate([256, 1024])]
    lines = records_in(calls_of(tmp_path, GOOD))
    assert records_in(calls_of(tmp_path, [*GOOD, *odd])) == lines


def test_odd_mates(tmp_path: Path) -> None:
    """Template lengths and mate positions at their limits."""
    limits = (0, 1, -1, 150, -150, 2**31 - 1, -(2**31) + 1)
    reads = [
        each._replace(
            flag=(99, 147, 83, 163, 97, 65)[number % 6],
            template_length=limits[number % len(limits)],
            mate=(0, each.position, LENGTH - 1, 2**31 - 2)[number % 4],
        )
        for number, each in enumerate(GOOD)
    ]
    found = summary_of(calls_of(tmp_path, reads, "--max-reads-per-start", "0"))
    assert [row.split()[0] for row in found] == [row.split()[0] for row in EXPECTED]


@pytest.mark.parametrize("quality", ["!", "+", "~"])
def test_one_quality(tmp_path: Path, quality: str) -> None:
    reads = [each._replace(qualities=quality * READ) for each in GOOD]
    assert summary_of(calls_of(tmp_path, reads)) == (EXPECTED if quality == "~" else [])


def test_letters_of_reads(tmp_path: Path) -> None:
    """Lower case is equal to upper case; other letters are N."""
    table = str.maketrans("ACGT", "acgt")
    reads = [each._replace(bases=each.bases.translate(table)) for each in GOOD]
    assert summary_of(calls_of(tmp_path, reads)) == EXPECTED
    for letter in "NRY=":
        reads = [each._replace(bases=letter * READ) for each in GOOD]
        assert not summary_of(calls_of(tmp_path, reads))


def test_long_reads(tmp_path: Path) -> None:
    length = 100_000
    reference = random_bases(RANDOM, length)
    haplotype = with_snps(reference, [50_000])
    reads = matches(haplotype, range(20), length - 50)
    found = calls_of(tmp_path, reads, "-r", "c:49001-51000", reference=reference)
    assert summary_of(found) == [f"50001 {reference[50_000]} {haplotype[50_000]} 1/1"]


def test_long_insertions(tmp_path: Path) -> None:
    """A read has 50 times as many inserted bases as others have bases."""
    inserted = random_bases(RANDOM, 5000)
    reads = [
        Alignment(
            f"i{number}",
            900 + number,
            f"{100 - number}M5000I{number + 50}M",
            REFERENCE[900 + number : 1000] + inserted + REFERENCE[1000 : 1050 + number],
        )
        for number in range(0, 40, 8)
    ]
    for row in records_in(calls_of(tmp_path, [*GOOD, *reads])):
        assert REFERENCE[int(row[1]) - 1 :].startswith(row[3])


@pytest.mark.parametrize("unit", ["A", "AC", "ACGTTGCAAGCTTAGC"])
def test_a_long_repeat(tmp_path: Path, unit: str) -> None:
    """No k-mer of the repeat is unique; lengths vary within it."""
    random = np.random.default_rng(3)
    repeat = unit * (2000 // len(unit))
    reference = REFERENCE[:500] + repeat + REFERENCE[-500:]
    reads = matches(reference, range(0, len(reference) - READ, 5), READ)
    for number, at in enumerate(random.integers(400, len(reference) - 300, 300)):
        size, before = len(unit) * int(random.integers(1, 4)), int(random.integers(20, 50))
        start = reference[at : at + before]
        rest = reference[at + before + size :][: READ - before]
        cigar = f"{before}M{size}D{READ - before}M"
        if number % 2:
            rest = (reference[at + before - size : at + before] + reference[at + before :])[
                : READ - before
            ]
            cigar = f"{before}M{size}I{READ - before - size}M"
        reads.append(Alignment(f"d{number}", int(at), cigar, start + rest))
    for row in records_in(calls_of(tmp_path, reads, reference=reference)):
        assert reference[int(row[1]) - 1 :].startswith(row[3])


def test_exponentially_many_paths(tmp_path: Path) -> None:
    """Each base of 30 is either of two, in all combinations: some 10^9 haplotypes."""
    random = np.random.default_rng(4)
    reads = []
    for number in range(700):
        at = int(random.integers(1400, 1600 - READ))
        sites = [site for site in range(1400, 1600, 7) if at <= site < at + READ]
        alternate = [site for site in sites if random.random() < 0.5]
        bases = with_snps(REFERENCE, alternate)[at : at + READ]
        reads.append(Alignment(f"r{number}", at, f"{READ}M", bases))
    found = records_in(calls_of(tmp_path, reads))
    assert all(REFERENCE[int(row[1]) - 1 :].startswith(row[3]) for row in found)


def test_many_reads_at_one_start(tmp_path: Path) -> None:
    """At most 50 of them count."""
    random = np.random.default_rng(5)
    haplotype = with_snps(REFERENCE, [1050])
    reads = [
        Alignment(f"r{number}", 1000, f"{READ}M", with_errors(random, bases, 0.01))
        for number in range(4000)
        for bases in [haplotype[1000 : 1000 + READ]]
    ]
    (row,) = records_in(calls_of(tmp_path, reads))
    assert row[1] == "1051"
    depth = next(field for field in row[7].split(";") if field.startswith("DP="))
    assert 30 < int(depth.removeprefix("DP=")) <= 50


def test_activity_everywhere(tmp_path: Path) -> None:
    """Every base is active on 20 kb, beyond the window of a segment: the same for all segments."""
    random = np.random.default_rng(6)
    length = 20_000
    reference = random_bases(random, length)
    starts = random.integers(0, length - READ, length * 2 // READ)
    reads = [
        each._replace(bases=with_errors(random, each.bases, 0.5))
        for each in matches(reference, starts.tolist(), READ)
    ]
    sam = write_sam(tmp_path / "reads.sam", reads, {"c": length})
    fasta = write_reference(tmp_path / "reference.fa", c=reference)
    statistics = tmp_path / "run.json"
    one = called(tmp_path, sam, fasta, "--json", statistics, threads=1)
    assert json.loads(statistics.read_text())["counts"]["active_bases"] > 0.95 * length
    assert called(tmp_path, as_bam(sam), fasta, threads=4) == one


@pytest.mark.parametrize("gvcf", [(), ("--gvcf",)])
def test_contig_names_that_vcf_does_not_allow(
    tmp_path: Path, gvcf: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused before the run if they are called, with or without reads."""
    fasta = write_reference(tmp_path / "reference.fa", **{"a,b": REFERENCE, "c": REFERENCE})
    sam = write_sam(tmp_path / "reads.sam", GOOD, {"a,b": LENGTH, "c": LENGTH})
    out = tmp_path / "out.vcf"
    assert status_of(sam, fasta, *gvcf, "-q", "-o", out) == 1
    assert not out.exists()
    message = "contig 'a,b' is a name that VCF does not allow; rename the contig, also in the reads"
    assert f"error: {fasta}: {message}" in error_of_command("call", capsys)
    assert summary_of(called(tmp_path, sam, fasta, "-r", "c")) == EXPECTED
