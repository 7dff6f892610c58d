"""The summary of a VCF, beside `bcftools stats` and a loop over the records."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from hapgpu.io.vcf.source import open_vcf
from hapgpu.report.sites.summary import VariantCounts
from hapgpu.report.sites.table import read_variants
from hapgpu.report.sites.variants import (
    DELETION,
    HET,
    HOM_ALT,
    HOM_REF,
    INSERTION,
    MAX_INDEL,
    MNV,
    NO_CALL,
    OTHER,
    SNV,
)
from tests.report.sites.made_sites import section_of

ALLELES = (
    *("A\tG", "A\tC", "C\tT", "T\tG", "c\tt", "N\tA"),
    *("A\tAT", "AT\tA", "ACG\tA,ACGG", "A\tACC,ACCC", "ATTT\tA,AT", "ACGT\tACG"),
    *("AC\tGT", "ACT\tGTA", "ACT\tTC", "AC\tG", "A\t<DEL>", "A\tG,T", "A\tG,AT"),
)
GENOTYPES = ("0/0", "0/1", "1|0", "1/1", "./.", "0/.")


def count(path: Path) -> VariantCounts:
    with open_vcf(path) as vcf:
        return read_variants(vcf, (), lambda _: None)[1]


def write(path: Path, lines: list[str], samples: int) -> Path:
    header = [
        "##fileformat=VCFv4.3",
        "##contig=<ID=chr1,length=100000000>",
        '##FILTER=<ID=low,Description="x">',
        '##ALT=<ID=DEL,Description="x">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">',
        '##FORMAT=<ID=GQ,Number=1,Type=Integer,Description="x">',
        '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="x">',
        '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="x">',
        "\t".join(
            ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
            + ["FORMAT", *(f"sample{k}" for k in range(samples))] * bool(samples)
        ),
    ]
    path.write_text("".join(f"{line}\n" for line in [*header, *lines]))
    return path


def made(path: Path, samples: int = 3) -> Path:
    """Write records of all kinds, with genotypes whose fields come in several orders."""
    chance = random.Random(5)  # noqa: S311  (data for a test)
    lines = []
    for number in range(600):
        alleles = chance.choice(ALLELES)
        orders = ("GT:GQ:DP:AD", "GT:AD:DP:GQ", "GT:XX:AD", "GT", "GT:GQ:DP:AD")
        keys = chance.choice(orders).split(":")
        fields = []
        for _ in range(samples):
            depths = [chance.randrange(40) for _ in range(alleles.count(",") + 2)]
            values = {
                "GT": chance.choice(GENOTYPES),
                "GQ": chance.choice([".", str(chance.randrange(100))]),
                "DP": str(sum(depths)),
                "AD": ",".join(map(str, depths)),
                "XX": "1",
            }
            shown = [values[key] for key in keys]
            fields.append(":".join(shown[: chance.randrange(1, len(shown) + 1)]))
        quality = chance.choice([".", "30", "12.5", "1e3"])
        filtered = chance.choice(["PASS", "low", "."])
        start = f"chr1\t{100 * number + 1}\t.\t{alleles}\t{quality}\t{filtered}\t."
        lines.append("\t".join([start, ":".join(keys), *fields]))
    return write(path, lines, samples)


def stats_of(path: Path) -> dict[str, list[list[str]]]:
    """Return the lines of `bcftools stats`, by their first column."""
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    done = subprocess.run(
        ["bcftools", "stats", "-s", "-", path], capture_output=True, text=True, check=True
    )
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        kind, *values = line.split("\t")
        found[kind].append(values)
    return found


def check(path: Path) -> None:
    """Compare the counts of a file with those of `bcftools stats`."""
    counts, stats = count(path), stats_of(path)
    numbers = {name: int(value) for _, name, value in stats["SN"]}
    assert counts.records == numbers["number of records:"]
    assert counts.with_kinds(int(SNV)) == numbers["number of SNPs:"]
    assert counts.with_kinds(int(MNV)) == numbers["number of MNPs:"]
    assert counts.with_kinds(int(INSERTION | DELETION)) == numbers["number of indels:"]
    assert counts.with_kinds(int(OTHER)) == numbers["number of others:"]
    assert counts.tallies.multiallelic[0] == numbers["number of multiallelic sites:"]
    ((_, transitions, transversions, *_),) = stats["TSTV"]
    assert counts.tallies.substitutions.tolist() == [int(transitions), int(transversions)]
    lengths = {int(row[1]): int(row[2]) for row in stats["IDD"]}
    indels = counts.tallies.indels
    assert {int(k) - MAX_INDEL: int(indels[k]) for k in np.flatnonzero(indels)} == lengths


def test_counts_are_those_of_bcftools(tmp_path: Path) -> None:
    check(made(tmp_path / "made.vcf"))


def test_genotypes_are_those_of_bcftools(tmp_path: Path) -> None:
    """`bcftools stats` counts those of SNVs: here, all records are SNVs."""
    lines = [
        line
        for line in made(tmp_path / "made.vcf").read_text().splitlines()
        if line.startswith("chr1") and "\t".join(line.split("\t")[3:5]) in ALLELES[:4]
    ]
    path = write(tmp_path / "snvs.vcf", lines, 3)
    genotypes = count(path).tallies.genotypes
    for found, row in zip(genotypes.tolist(), stats_of(path)["PSC"], strict=True):
        expected = dict(zip((HOM_REF, HOM_ALT, HET), map(int, row[2:5]), strict=True))
        expected[NO_CALL] = int(row[-1])
        assert dict(enumerate(found)) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["NA12878.truth.dev.vcf.gz", "HG002.truth.dev.vcf.gz"])
def test_counts_of_real_files(data_dir: Path, name: str) -> None:
    check(data_dir / "illumina_na12878" / name)


def test_distributions(tmp_path: Path) -> None:
    path = made(tmp_path / "made.vcf")
    genotypes: Counter[int] = Counter()
    qualities: Counter[int] = Counter()
    depths: Counter[int] = Counter()
    fractions: Counter[tuple[bool, int]] = Counter()
    filters: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        *fixed, keys = line.split("\t")[:9]
        qualities.update([int(float(fixed[5]))] if fixed[5] != "." else [])
        filters[fixed[6]] += 1
        for sample in line.split("\t")[9:]:
            values = dict(zip(keys.split(":"), sample.split(":"), strict=False))
            alleles = values["GT"].replace("|", "/").split("/")
            if "." in alleles:
                continue
            genotypes.update([int(values["GQ"])] if values.get("GQ", ".") != "." else [])
            depths.update([int(values["DP"])] if "DP" in values else [])
            reads = list(map(int, values["AD"].split(","))) if "AD" in values else [0]
            for allele in {*map(int, alleles)} - {0}:
                if sum(reads):
                    fractions[len({*alleles}) == 1, 100 * reads[allele] // sum(reads)] += 1
    counts = count(path)
    tallies = counts.tallies
    for found, expected in (
        (tallies.qualities, qualities),
        (tallies.genotype_qualities, genotypes),
        (tallies.depths, depths),
    ):
        assert {int(k): int(found[k]) for k in np.flatnonzero(found)} == expected
    assert {
        (bool(row), int(k)): int(tallies.fractions[row, k])
        for row, k in np.argwhere(tallies.fractions)
    } == fractions
    assert counts.filters == filters


@pytest.mark.parametrize("alternative", [".", "*", "<NON_REF>", "<*>", "A"])
def test_no_variant(tmp_path: Path, alternative: str) -> None:
    line = f"chr1\t5\t.\tA\t{alternative}\t.\t.\t.\tGT:AD\t0/1:3,3"
    counts = count(write(tmp_path / "made.vcf", [line], 1))
    assert counts.tallies.kinds.tolist() == [1, *[0] * 31]
    assert not counts.tallies.genotypes.any()


@pytest.mark.parametrize(
    ("genotype", "expected"),
    [
        ("1", HOM_ALT),
        ("0", HOM_REF),
        ("/0/1", HET),
        ("1/2", HET),
        ("0/0/1", HET),
        ("1|1|1", HOM_ALT),
        (".", NO_CALL),
        ("1/", NO_CALL),
        ("x", NO_CALL),
        ("99999999999/1", NO_CALL),
    ],
)
def test_genotypes(tmp_path: Path, genotype: str, expected: int) -> None:
    line = f"chr1\t5\t.\tA\tC,G\t.\t.\t.\tGT:AD\t{genotype}:1,2,x"
    counts = count(write(tmp_path / "made.vcf", [line], 1))
    assert np.flatnonzero(counts.tallies.genotypes[0]).tolist() == [expected]
    assert not counts.tallies.fractions.any()


def test_summary_of_all_records_and_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the first sites, the summary counts all."""
    monkeypatch.setattr("hapgpu.report.sites.table.MAX_SITES", 10)
    pytest.importorskip("itables")
    html = section_of(made(tmp_path / "made.vcf")).html
    assert "The first 10 sites of the file." in html
    assert "<dt>records</dt><dd>600</dd>" in html
    assert "<td>sample2</td>" in html
    assert html.count('class="chart"') == 6
