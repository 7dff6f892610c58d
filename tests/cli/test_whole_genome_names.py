"""Commands on the names of GRCh38 with ALT contigs, decoys and HLA: `HLA-A*01:01:01:01`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

import numpy as np
import pysam
import pytest

from tests.cli.call.command import records_in, text_of
from tests.cli.call.made_reads import random_bases, with_snps
from tests.cli.in_process import status_of_command

HLA: Final = "HLA-A*01:01:01:01"
ALT: Final = "chr1_KI270762v1_alt"
OCCUPIED: Final = ("chr1", ALT, "chrUn_JTFH01000001v1_decoy", HLA, "HLA-DRB1*16:02:01")
NAMES: Final = (
    *("chr1", "chrM", "chr1_KI270706v1_random", "chrUn_KI270302v1", "chrEBV", ALT),
    *("chrUn_JTFH01000001v1_decoy", "HLA-A*01:01", HLA, "HLA-DRB1*16:02:01"),
)
LENGTH: Final = 400
SNP: Final = 200
READ: Final = 100
DEPTH: Final = 12
CPU: Final = ("--device", "cpu", "-t", "1")
WARNING: Final = "reads.bam: 1 ALT contigs found, but no "


class Files(NamedTuple):
    """Inputs of the commands."""

    reads: Path
    csi: Path
    reference: Path
    haplotypes: Path
    sites: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(7)
    contigs = {name: random_bases(rng, LENGTH) for name in NAMES}
    fasta = directory / "reference.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    pysam.tabix_compress(str(fasta), f"{fasta}.gz")
    pysam.faidx(f"{fasta}.gz")
    changed = {name: with_snps(contigs[name], [SNP]) for name in OCCUPIED}
    sam = directory / "reads.sam"
    with sam.open("w") as out:
        out.write("@HD\tVN:1.6\tSO:coordinate\n")
        out.writelines(f"@SQ\tSN:{name}\tLN:{LENGTH}\n" for name in NAMES)
        out.write("@RG\tID:g\tSM:s\n")
        for name in OCCUPIED:
            for start in range(SNP - 60, SNP - 60 + DEPTH):
                bases = changed[name][start : start + READ]
                fields = f"{name}\t{start + 1}\t60\t{READ}M\t*\t0\t0\t{bases}\t{'I' * READ}"
                out.write(f"{name}_{start}\t0\t{fields}\tRG:Z:g\n")
    bams = directory / "reads.bam", directory / "csi.bam"
    for bam, options in zip(bams, ([], ["-c"]), strict=True):
        pysam.view("-b", "--no-PG", "-o", str(bam), str(sam), catch_stdout=False)
        pysam.index(*options, str(bam))
    haplotypes = directory / "haplotypes.fa"
    haplotypes.write_text(
        "".join(
            f">{number} {name}:101-300\n{bases[100:300]}\n"
            for name in OCCUPIED
            for number, bases in enumerate([contigs[name], changed[name]], 2 * NAMES.index(name))
        )
    )
    sites = directory / "sites.vcf.gz"
    reference = Path(f"{fasta}.gz")
    assert status_of_command("call", *CPU, "-q", bams[0], reference, "-o", sites) == 0
    return Files(*bams, reference, haplotypes, sites)


def positions_in(vcf: Path) -> list[tuple[str, int, str]]:
    return [(row[0], int(row[1]), row[9][:3]) for row in records_in(text_of(vcf))]


def test_call(files: Files, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All contigs have a line, those with reads records, which htslib finds by region."""
    out = tmp_path / "called.vcf.gz"
    assert status_of_command("call", *CPU, files.csi, files.reference, "-o", out) == 0
    assert capfd.readouterr().err.count("1 ALT contigs found, but no ") == 1
    assert positions_in(out) == [(name, SNP + 1, "1/1") for name in OCCUPIED]
    lines = [line for line in text_of(out).splitlines() if line.startswith("##contig")]
    assert lines == [f"##contig=<ID={name},length={LENGTH}>" for name in NAMES]
    assert records_in(text_of(out)) == records_in(text_of(files.sites))
    if which("bcftools"):
        command = ["bcftools", "query", "-f", "%CHROM %POS\n", str(out)]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        assert found.stdout.splitlines() == [f"{name} {SNP + 1}" for name in OCCUPIED]
    with pysam.TabixFile(str(out)) as index:
        assert [row.split("\t")[0] for row in index.fetch(HLA, SNP, SNP + 1)] == [HLA]


@pytest.mark.parametrize(
    "region", [HLA, f"{HLA}:150-250", f"{{{HLA}}}", f"{{{HLA}}}:150-250", f"{HLA}:201"]
)
@pytest.mark.parametrize("command", ["call", "genotype"])
def test_regions(files: Files, tmp_path: Path, region: str, command: str) -> None:
    """Only the last colon can precede a range; in braces, any name is a contig."""
    out = tmp_path / "found.vcf"
    inputs = [files.reads, files.reference, *([files.sites] if command == "genotype" else [])]
    assert status_of_command(command, *CPU, "-q", *inputs, "-r", region, "-o", out) == 0
    assert positions_in(out) == [(HLA, SNP + 1, "1/1")]


def test_targets(files: Files, tmp_path: Path) -> None:
    out, bed = tmp_path / "found.vcf", tmp_path / "targets.bed"
    bed.write_text(f"{HLA}\t150\t250\n{ALT}\t0\t100\n")
    inputs = [files.reads, files.reference, "-L", bed]
    assert status_of_command("call", *CPU, "-q", *inputs, "-o", out) == 0
    assert positions_in(out) == [(HLA, SNP + 1, "1/1")]


def test_genotype(files: Files, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "genotypes.vcf"
    inputs = [files.reads, files.reference, files.sites]
    assert status_of_command("genotype", *CPU, *inputs, "-o", out) == 0
    assert capfd.readouterr().err.count(WARNING) == 1
    assert positions_in(out) == [(name, SNP + 1, "1/1") for name in OCCUPIED]


def test_realign(files: Files, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the reference, the header is kept, and records that do not move stay."""
    out = tmp_path / "realigned.bam"
    words = [files.reads, files.haplotypes, "--reference", files.reference, "--no-PG"]
    assert status_of_command("realign", *CPU, *words, "--write-index", "-o", out) == 0
    assert capfd.readouterr().err.count(WARNING) == 1
    with pysam.AlignmentFile(str(out)) as found, pysam.AlignmentFile(str(files.reads)) as reads:
        assert found.references == reads.references == NAMES
        assert [each.reference_name for each in found] == [each.reference_name for each in reads]
        assert found.count(HLA, SNP, SNP + 1) == DEPTH
    onto = tmp_path / "on_haplotypes.sam"
    words = [files.reads, files.haplotypes, "-r", f"{HLA}:150-250", "-o", onto]
    assert status_of_command("realign", *CPU, *words) == 0
    assert WARNING not in capfd.readouterr().err
    with pysam.AlignmentFile(str(onto)) as found:
        assert [each.reference_name for each in found] == [str(2 * NAMES.index(HLA) + 1)] * DEPTH


def test_a_list_of_alt_contigs(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    listed = Path(str(files.reference).removesuffix(".gz") + ".alt")
    listed.touch()
    try:
        assert status_of_command("call", *CPU, files.reads, files.reference) == 0
    finally:
        listed.unlink()
    assert "ALT contigs" not in capfd.readouterr().err


def test_pairhmm_and_haplotypes(files: Files, tmp_path: Path) -> None:
    made, table = tmp_path / "made.fa", tmp_path / "table.tsv"
    words = [files.reference, files.sites, "-r", f"{HLA}:150-250", "-o", made]
    assert status_of_command("haplotypes", "-q", *words) == 0
    assert made.read_text().split()[1].startswith(f"{HLA}:101-301")
    assert status_of_command("pairhmm", *CPU, "-q", files.reads, made, "-o", table) == 0
    reads = {line.split("\t")[0] for line in table.read_text().splitlines()}
    assert {f"{HLA}_{start}" for start in range(SNP - 60, SNP - 60 + DEPTH)} <= reads
