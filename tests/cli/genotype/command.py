"""Runs of `hapgpu genotype` in this process, their calls, and simulated reads."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import pysam

from tests.cli.in_process import status_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "genotype"]
CONTIG = "chr1"
BASES = "".join(Random(5).choices("ACGT", k=300))  # noqa: S311  (the same data on every run)
SITE = 150
REF = BASES[SITE - 1]
ALT, OTHER = [base for base in "ACGT" if base != REF][:2]
ONE_SAMPLE = {"run1": "NA1"}


class Call(NamedTuple):
    """A record of the output: its columns as text, and the fields of each sample by name."""

    contig: str
    position: int
    identifier: str
    reference: str
    alternatives: str
    quality: str
    filters: str
    info: str
    samples: tuple[dict[str, str], ...]

    def genotype(self, sample: int = 0) -> str:
        return self.samples[sample]["GT"]


class Read(NamedTuple):
    """A simulated read."""

    name: str
    position: int
    bases: str
    cigar: str
    flag: int = 0
    mapping_quality: int = 60
    base_quality: str = "I"
    group: str = "run1"
    contig: str = CONTIG


def status_of(*arguments: str | Path, threads: int = 2) -> int:
    """Run the command in this process, by default on the CPU; return its exit status."""
    return status_of_command("genotype", "--device", "cpu", "-t", str(threads), *arguments)


def text_of(path: Path) -> str:
    """Return the text of an output, which may be compressed."""
    data = path.read_bytes()
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()


def header_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def calls_in(text: str) -> list[Call]:
    """Read the records of an output."""
    calls = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        contig, position, *columns = line.split("\t")
        fixed, names, values = columns[:6], columns[6].split(":"), columns[7:]
        samples = tuple(dict(zip(names, text.split(":"), strict=True)) for text in values)
        calls.append(Call(contig, int(position), *fixed, samples))
    return calls


def calls_of(directory: Path, *arguments: str | Path, threads: int = 2) -> list[Call]:
    """Run the command; return the records of its output."""
    path = directory / "calls_of.vcf"
    assert status_of(*arguments, "-q", "-o", path, threads=threads) == 0
    return calls_in(path.read_text())


def genotypes_of(directory: Path, *arguments: str | Path) -> list[str]:
    """Run the command; return the genotype of the first sample at each site."""
    return [call.genotype() for call in calls_of(directory, *arguments)]


def pileup(carried: str, prefix: str = "r", **changes: str | int) -> list[Read]:
    """Make one read over bases 101 to 200 per letter: with ALT at `SITE` for `1`."""
    texts = [BASES[100:200], BASES[100 : SITE - 1] + ALT + BASES[SITE:200]]
    reads = [
        Read(f"{prefix}{number}", 101, texts[int(letter)], "100M")
        for number, letter in enumerate(carried)
    ]
    return [read._replace(**changes) for read in reads]


def write_sam(
    path: Path,
    reads: Iterable[Read],
    groups: Mapping[str, str] = ONE_SAMPLE,
    lengths: Mapping[str, int] | None = None,
) -> Path:
    """Write reads, in their order, and read groups with their samples."""
    contigs = lengths or {CONTIG: len(BASES)}
    lines = [f"@SQ\tSN:{name}\tLN:{length}" for name, length in contigs.items()]
    lines += [f"@RG\tID:{group}\tSM:{sample}" for group, sample in groups.items()]
    for read in reads:
        alignment = (read.contig, read.position, read.mapping_quality, read.cigar)
        quality = read.base_quality * (len(read.bases) if read.base_quality != "*" else 1)
        fields = (read.name, read.flag, *alignment, "*", 0, 0, read.bases, quality)
        tags = [f"RG:Z:{read.group}"] * bool(read.group)
        lines.append("\t".join([*map(str, fields), *tags]))
    path.write_text("\n".join([*lines, ""]))
    return path


def write_bam(sam: Path) -> Path:
    """Write the reads of a SAM file as sorted BAM with its index."""
    path = sam.with_suffix(".bam")
    pysam.sort("--no-PG", "-o", str(path), str(sam))
    pysam.index(str(path))
    return path


def write_sites(
    path: Path, records: Iterable[str], header: Iterable[str] = (), contig: str = CONTIG
) -> Path:
    """Write a VCF of records `POS REF ALT` or `POS ID REF ALT QUAL FILTER INFO`."""
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t")
    lines = ["##fileformat=VCFv4.2", *header, columns]
    for record in records:
        fields = record.split()
        if len(fields) == len(("POS", "REF", "ALT")):
            position, reference, alternatives = fields
            fields = [position, ".", reference, alternatives, ".", ".", "."]
        lines.append("\t".join([contig, *fields]))
    path.write_text("\n".join([*lines, ""]))
    return path
