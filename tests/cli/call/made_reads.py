"""Small references and aligned reads, made for tests of unusual inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

LETTERS = "ACGT"


class Alignment(NamedTuple):
    """A line of SAM; the position is 0-based."""

    name: str
    position: int
    cigar: str
    bases: str
    qualities: str = ""
    flag: int = 0
    template_length: int = 0
    mate: int = -1
    contig: str = "c"
    group: str = "g"

    @property
    def line(self) -> str:
        mate = ("=", self.mate + 1) if self.mate >= 0 else ("*", 0)
        quality = self.qualities or "I" * len(self.bases)
        words = (self.name, self.flag, self.contig, self.position + 1, 60, self.cigar)
        fields = (*words, *mate, self.template_length, self.bases, quality, f"RG:Z:{self.group}")
        return "\t".join(map(str, fields))


def random_bases(random: np.random.Generator, length: int) -> str:
    return "".join(random.choice(list(LETTERS), length))


def with_snps(bases: str, positions: Iterable[int]) -> str:
    """Replace bases by the next letter."""
    changed = list(bases)
    for position in positions:
        changed[position] = LETTERS[(LETTERS.index(changed[position]) + 1) % 4]
    return "".join(changed)


def with_errors(random: np.random.Generator, bases: str, rate: float) -> str:
    return with_snps(bases, np.flatnonzero(random.random(len(bases)) < rate))


def matches(bases: str, positions: Iterable[int], length: int, name: str = "r") -> list[Alignment]:
    """Return reads without gaps or errors."""
    return [
        Alignment(f"{name}{number}", position, f"{length}M", bases[position : position + length])
        for number, position in enumerate(positions)
    ]


def write_reference(path: Path, **contigs: str) -> Path:
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    pysam.faidx(str(path))
    return path


def write_sam(
    path: Path,
    alignments: Iterable[Alignment],
    lengths: Mapping[str, int],
    groups: Mapping[str, str] | None = None,
) -> Path:
    """Write alignments by position; those of one position keep their order."""
    contigs = list(lengths)
    header = ["@HD\tVN:1.6\tSO:coordinate"]
    header += [f"@SQ\tSN:{name}\tLN:{length}" for name, length in lengths.items()]
    header += [f"@RG\tID:{name}\tSM:{sample}" for name, sample in (groups or {"g": "s"}).items()]
    ordered = sorted(alignments, key=lambda each: (contigs.index(each.contig), each.position))
    path.write_text("\n".join([*header, *(each.line for each in ordered)]) + "\n")
    return path


def as_bam(sam: Path) -> Path:
    path = sam.with_suffix(".bam")
    pysam.view("-b", "--no-PG", "-o", str(path), str(sam), catch_stdout=False)
    pysam.index(str(path))
    return path
