"""Runs of `hapgpu haplotypes` in this process, and their haplotypes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pysam

from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.io.genome.regions import Region
from tests.cli.in_process import status_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "haplotypes"]
BASES = "AAAAACCCCCGATTACAGTCTTTTTGGGGGCATGCATGCATG"
CONTIG = "chr1"


class Written(NamedTuple):
    """A haplotype of the output."""

    name: str
    locus: Region
    alleles: tuple[str, ...]
    sequence: str


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("haplotypes", *arguments)


def haplotypes_of(directory: Path, *arguments: str | Path) -> list[Written]:
    """Run the command; return its haplotypes, read as other commands read them."""
    path = directory / "haplotypes.fa"
    assert status_of(*arguments, "-q", "-o", path) == 0
    headers = [line for line in path.read_text().splitlines() if line.startswith(">")]
    if not headers:
        return []
    read = read_haplotypes(path)
    return [
        Written(
            name,
            read.loci[locus],
            tuple(header.split(" ")[2:]),
            read.sequences[row].tobytes().decode(),
        )
        for row, (name, locus, header) in enumerate(
            zip(read.names, read.locus_index, headers, strict=True)
        )
    ]


def write_reference(directory: Path, bases: str = BASES, contig: str = CONTIG) -> Path:
    """Write an indexed reference of one contig."""
    path = directory / "ref.fa"
    path.write_text(f">{contig}\n{bases}\n")
    pysam.faidx(str(path))
    return path


def write_calls(directory: Path, records: Iterable[str], contig: str = CONTIG) -> Path:
    """Write a VCF of records such as `12 A T` or `12 A T,C GT:PS 0|1:5 1|1`."""
    lines = []
    samples = 0
    for record in records:
        position, reference, alternatives, *genotypes = record.split()
        samples = max(0, len(genotypes) - 1)
        fixed = [contig, position, ".", reference, alternatives, ".", ".", "."]
        lines.append("\t".join([*fixed, *genotypes]))
    names = ["FORMAT", *(f"s{number}" for number in range(samples))] if samples else []
    columns = "\t".join(["#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t"), *names])
    path = directory / "calls.vcf"
    path.write_text("\n".join(["##fileformat=VCFv4.3", columns, *lines, ""]))
    return path
