"""Runs of `hapgpu map`, and a small reference with reads of every kind of hit."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.cli.in_process import status_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "map"]
_COMPLEMENTS = str.maketrans("ACGTacgtN", "TGCAtgcaN")


@dataclass(frozen=True)
class Sample:
    """A reference and reads, as text and as files."""

    directory: Path
    contigs: dict[str, str]
    reads: dict[str, str]

    @property
    def fasta(self) -> Path:
        return self.directory / "reference.fa"

    @property
    def fastq(self) -> Path:
        return self.directory / "reads.fq"

    @property
    def qualities(self) -> dict[str, str]:
        """Return qualities that differ at each base, so that a wrong order is found."""
        return {
            name: "".join(chr(33 + (k + len(name)) % 60) for k in range(len(bases)))
            for name, bases in self.reads.items()
        }

    def fastq_text(self) -> str:
        qualities = self.qualities
        return "".join(
            f"@{name} a comment\n{bases}\n+{name} a comment\n{qualities[name]}\n"
            for name, bases in self.reads.items()
        )


def make_sample(directory: Path) -> Sample:
    random = Random(4)  # noqa: S311  (reproducible data, not secrets)
    sample = Sample(directory, _contigs(random), {})
    sample.reads.update(_reads(random, sample.contigs))
    with sample.fasta.open("w") as out:
        for name, bases in sample.contigs.items():
            lines = (bases[k : k + 60] for k in range(0, len(bases), 60))
            out.write("\n".join([f">{name} a contig", *lines, ""]))
    sample.fastq.write_text(sample.fastq_text())
    return sample


def _letters(random: Random, length: int) -> str:
    return "".join(random.choices("ACGT", k=length))


def _contigs(random: Random) -> dict[str, str]:
    """Make contigs that share a repeat, with N, IUPAC and lower-case letters."""
    repeat = _letters(random, 120)
    first = _letters(random, 900) + repeat + _letters(random, 200) + repeat.lower()
    return {
        "chr1": f"{first}{'N' * 70}{_letters(random, 300)}R{_letters(random, 90)}{'CA' * 40}",
        "chr2": repeat[::-1].translate(_COMPLEMENTS) + _letters(random, 400) + repeat,
        "tiny": _letters(random, 30),
    }


def _reads(random: Random, contigs: dict[str, str]) -> dict[str, str]:
    """Make reads with no, one or two errors, from either strand, and some without a hit."""
    reads: dict[str, str] = {}
    for number in range(300):
        bases = random.choice([*contigs.values()][:2]).upper()
        length = random.choice((12, 25, 36, 64, 65, 100))
        start = random.randrange(len(bases) - length + 1)
        read = bases[start : start + length]
        for _ in range(number % 3):
            read = _with_error(random, read)
        if random.random() < 0.5:
            read = read[::-1].translate(_COMPLEMENTS)
        reads[f"r{number}"] = read
    first = contigs["chr1"]
    return reads | {
        "random": _letters(random, 50),
        "short": first[:9],
        "least": first[:10],
        "empty": "",
        "lower": first[100:150].lower(),
        "with_n": first[100:120] + "N" + first[121:150],
        "start": "A" + first[:40],
        "end": contigs["chr2"][-40:],
        "whole": contigs["tiny"],
        "beyond": contigs["tiny"] + "ACGT",
        "long": first[:1000].upper(),
    }


def _with_error(random: Random, read: str) -> str:
    offset = random.randrange(len(read))
    before, base, after = read[:offset], read[offset], read[offset + 1 :]
    other = random.choice("ACGT".replace(base, ""))
    return random.choice((before + other + after, before + after, before + other + base + after))


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("map", *arguments)


def sam_of(directory: Path, *arguments: str | Path, threads: int = 1) -> list[str]:
    """Map on the CPU, to SAM text without @PG; return its lines."""
    path = directory / "out.sam"
    path.unlink(missing_ok=True)
    resources = ("-q", "--device", "cpu", "-t", str(threads))
    assert status_of(*arguments, *resources, "--no-PG", "-o", path) == 0
    return path.read_text().splitlines()
