"""`-r` of contigs whose names look like regions, in every command that has it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pysam
import pytest

from tests.faults.processes.running import Done, run

CONTIGS: Final = ("chr20", "chr20:101-200", "HLA*01:01", "HLA*01:01:01:01")
LENGTH: Final = 400
COMMANDS: Final = {
    "realign": "realign reads.bam haplotypes.fa --reference reference.fa",
    "pairhmm": "pairhmm reads.bam haplotypes.fa",
    "haplotypes": "haplotypes reference.fa sites.vcf",
    "genotype": "genotype reads.bam reference.fa sites.vcf",
    "call": "call reads.bam reference.fa",
}
OUTPUTS: Final = {"realign": "out.sam", "pairhmm": "out.tsv", "haplotypes": "out.fa"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a contig per name, with a site at 201 that 20 reads have."""
    directory = tmp_path_factory.mktemp("names")
    rng = random.Random(6)  # noqa: S311 (no secret)
    fasta, haplotypes, sites, reads = "", "", "", []
    for name in CONTIGS:
        bases = "".join(rng.choices("ACGT", k=LENGTH))
        changed = bases[:200] + "CATG"["ACGT".index(bases[200])] + bases[201:]
        fasta += f">{name}\n{bases}\n"
        haplotypes += f">{name}_alt {name}:101-300\n{changed[100:300]}\n"
        sites += f"{name}\t201\t.\t{bases[200]}\t{changed[200]}\t50\t.\t.\n"
        reads += [
            f"{name}/{k}\t0\t{name}\t{k + 111}\t60\t100M\t*\t0\t0\t{changed[k + 110 : k + 210]}\t"
            f"{'I' * 100}\tRG:Z:a"
            for k in range(20)
        ]
    for file, text in (("reference.fa", fasta), ("haplotypes.fa", haplotypes)):
        (directory / file).write_text(text)
    pysam.faidx(str(directory / "reference.fa"))
    lines = "".join(f"##contig=<ID={name},length={LENGTH}>\n" for name in CONTIGS)
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    (directory / "sites.vcf").write_text(f"##fileformat=VCFv4.2\n{lines}{columns}{sites}")
    header = "".join(f"@SQ\tSN:{name}\tLN:{LENGTH}\n" for name in CONTIGS)
    header = f"@HD\tVN:1.6\tSO:coordinate\n{header}@RG\tID:a\tSM:a\n"
    (directory / "reads.sam").write_text(header + "\n".join(reads) + "\n")
    bam = str(directory / "reads.bam")
    pysam.samtools.view("-b", "-o", bam, str(directory / "reads.sam"), catch_stdout=False)
    pysam.index(bam)
    return directory


@pytest.fixture
def run_on(data: Path) -> Callable[..., Done]:
    def run_command(name: str, *options: str) -> Done:
        words = [*COMMANDS[name].split(), "-q", "-o", OUTPUTS.get(name, "out.vcf"), *options]
        device = [] if name == "haplotypes" else ["--device", "cpu", "-t", "1"]
        return run([*words, *device], data)

    return run_command


def contigs_of(path: Path) -> set[str]:
    """Return the contigs of the records of an output."""
    column = {".sam": 2, ".tsv": 2, ".vcf": 0}.get(path.suffix)
    lines = path.read_text().splitlines()
    if column is None:
        headers = [line.split()[1] for line in lines if line.startswith(">")]
        return {locus.rpartition(":")[0] for locus in headers}
    rows = [line.split("\t") for line in lines if not line.startswith(("@", "#", "read\t"))]
    return {row[column].removesuffix(":101-300") for row in rows}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["HLA*01:01"], "HLA*01:01"),
        (["HLA*01:01:01:01"], "HLA*01:01:01:01"),
        (["chr20:101-200:1-300"], "chr20:101-200"),
        (["{chr20:101-200}"], "chr20:101-200"),
        (["{chr20}:101-200", "{chr20}:201"], "chr20"),
    ],
)
def test_names_come_first(
    data: Path, run_on: Callable[..., Done], name: str, texts: list[str], expected: str
) -> None:
    done = run_on(name, *(word for text in texts for word in ("-r", text)))
    assert done.status == 0, done
    assert contigs_of(data / OUTPUTS.get(name, "out.vcf")) == {expected}


@pytest.mark.parametrize("name", COMMANDS)
def test_two_meanings_are_refused(run_on: Callable[..., Done], name: str) -> None:
    done = run_on(name, "-r", "chr20:101-200")
    assert done.status == 2, done
    assert done.err == (
        f"hapgpu {name}: error: region 'chr20:101-200': ambiguous, contigs 'chr20' and"
        " 'chr20:101-200' exist; write {chr20}:101-200 or {chr20:101-200}\n"
    )
