"""Other programs, and other commands of hapgpu, read the output of `hapgpu call`."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, make_inputs, status_of
from tests.cli.in_process import status_of_command

needs_bcftools = pytest.mark.skipif(
    not shutil.which("bcftools"), reason="bcftools is not installed"
)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def variants(example: Inputs) -> Path:
    """Return a compressed output, of SNPs, deletions, a site with two ALTs and spanned sites."""
    path = example.reads.with_name("variants.vcf.gz")
    assert status_of(*example, "-q", "-o", path) == 0
    return path


def lines_of(program: str, *words: str | Path) -> list[str]:
    """Run a program that must not warn; return the lines of its output."""
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, check=True, timeout=60
    )
    assert not [line for line in done.stderr.splitlines() if "W::" in line or "E::" in line]
    return done.stdout.splitlines()


def keys_of(lines: list[str]) -> list[str]:
    """Return contig, position, REF and ALT of each record."""
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [" ".join([*row[:2], *row[3:5]]) for row in rows]


@needs_bcftools
def test_records_are_normal(example: Inputs, variants: Path) -> None:
    """No record is changed by left alignment and trimming; REF is the reference."""
    whole = keys_of(lines_of("bcftools", "view", variants))
    assert len(whole) == 15
    words = ["norm", "--check-ref", "e", "-f", example.reference, variants]
    assert keys_of(lines_of("bcftools", *words)) == whole


@needs_bcftools
def test_split_and_joined_records(variants: Path, tmp_path: Path) -> None:
    split = tmp_path / "split.bcf"
    assert not lines_of("bcftools", "norm", "-m", "-any", "-o", split, variants)
    joined = lines_of("bcftools", "norm", "-m", "+any", split)
    assert keys_of(joined) == keys_of(lines_of("bcftools", "view", variants))


@needs_bcftools
@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("QD<2 || FS>60 || SOR>9 || MQ<40", 0),
        ("QUAL<30", 0),
        ("GT='0/1' && GQ>20", 14),
        ("FMT/AD[0:1]>5 && FMT/DP>10 && INFO/DP>10", 15),
        ("AC=2 && AN=2 && AF=1", 14),
        ("ReadPosRankSum<-8 || MQRankSum<-12.5 || BaseQRankSum<-10", 2),
        ("MLEAC[0]>=1 && MLEAF[0]>0 && ExcessHet<54.69 && smpl_min(FMT/PL)=0", 15),
        ("N_ALT=2", 14),
    ],
)
def test_filters(variants: Path, expression: str, most: int) -> None:
    """Filter expressions of pipelines find their fields."""
    chosen = keys_of(lines_of("bcftools", "view", "-i", expression, variants))
    others = keys_of(lines_of("bcftools", "view", "-e", expression, variants))
    assert len(chosen) <= most
    assert len(chosen) + len(others) == 15
    assert bool(chosen) == (most > 2)


@needs_bcftools
def test_statistics_and_intersections(variants: Path, tmp_path: Path) -> None:
    numbers = {
        row[2]: int(row[3])
        for row in (line.split("\t") for line in lines_of("bcftools", "stats", variants))
        if row[0] == "SN"
    }
    assert numbers["number of records:"] == 15
    assert numbers["number of samples:"] == 1
    assert numbers["number of multiallelic sites:"] >= 1
    lines_of("bcftools", "isec", "-p", tmp_path / "isec", variants, variants)
    shared = (tmp_path / "isec" / "0002.vcf").read_text().splitlines()
    assert keys_of(shared) == keys_of(lines_of("bcftools", "view", variants))


def test_every_field_is_declared(variants: Path) -> None:
    """The header has each INFO and FORMAT field, with its type and number of values."""
    with pysam.VariantFile(str(variants)) as file:
        contigs = {name: contig.length for name, contig in file.header.contigs.items()}
        for record in file:
            assert record.pos + len(record.ref or "") - 1 <= contigs[record.contig]
            ploidy = len(record.alleles or ())
            assert set(record.info) <= set(file.header.info)
            assert len(record.info["AC"]) == len(record.info["AF"]) == ploidy - 1
            (sample,) = record.samples.values()
            assert set(sample) == {"GT", "AD", "DP", "GQ", "PL"}
            assert len(sample["AD"]) == ploidy
            assert len(sample["PL"]) == ploidy * (ploidy + 1) // 2
            assert sum(sample["AD"]) == sample["DP"] <= record.info["DP"]


@pytest.mark.exhaustive
def test_genotype_takes_the_variants(example: Inputs, variants: Path, tmp_path: Path) -> None:
    """The same genotypes, except where alleles `*` stand for deletions at other records."""
    out = tmp_path / "genotypes.vcf"
    words = ["--device", "cpu", "-q", "-t", "2", "-o", out]
    assert status_of_command("genotype", *example, variants, *words) == 0
    with pysam.VariantFile(str(variants)) as called, pysam.VariantFile(str(out)) as listed:
        pairs = list(zip(called, listed, strict=True))
    for one, other in pairs:
        assert (one.pos, one.alleles) == (other.pos, other.alleles)
    usual = [pair for pair in pairs if "*" not in pair[0].alts]
    different = [one.pos for one, other in usual if one.samples[0]["GT"] != other.samples[0]["GT"]]
    assert len(usual) >= 5
    assert different == []


@pytest.mark.exhaustive
def test_haplotypes_takes_the_variants(example: Inputs, variants: Path, tmp_path: Path) -> None:
    out = tmp_path / "haplotypes.fa"
    words = ["-q", "-o", out]
    assert status_of_command("haplotypes", example.reference, variants, *words) == 0
    assert out.read_text().count(">") > 10


@pytest.mark.skipif(find_spec("vl_convert") is None, reason="the extra 'report' is not installed")
@pytest.mark.exhaustive
def test_report_takes_the_variants(example: Inputs, variants: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    words = ["--reads", example.reads, "--reference", example.reference, "-q", "-o", out]
    assert status_of_command("report", variants, *words) == 0
    assert any(position in out.read_text() for position in ("15180", "15,180"))
