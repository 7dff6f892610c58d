"""Made reads of changed haplotypes, wrongly aligned with the reference, as a mapper does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region
from tests.io.sam_oracle import Row, batch_of

_CONTIG = "a"
_LENGTH = 2400
_LOCUS, _STEP = 220, 260
_MATCH, _INSERTION, _DELETION, _SOFT, _HARD = 0, 1, 2, 4, 5


@dataclass(frozen=True)
class MadeMoves:
    """A reference, haplotypes of its loci, and aligned reads."""

    reference: Path
    haplotypes: HaplotypeSet
    header: SamHeader
    reads: ReadBatch


def made_moves(seed: int, count: int, directory: Path) -> MadeMoves:
    """Make loci with SNVs and indels, some in repeats, and reads of their haplotypes."""
    rng = np.random.default_rng(seed)
    bases = _bases(rng)
    reference = directory / f"{seed}.fa"
    reference.write_text(f">{_CONTIG}\n{bases}\n", encoding="ascii")
    pysam.faidx(str(reference))
    starts = range(40, _LENGTH - _LOCUS - 40, _STEP)
    changed = [_changed(rng, bases[start : start + _LOCUS]) for start in starts]
    haplotypes = HaplotypeSet(
        tuple(f"h{k}" for k in range(2 * len(changed))),
        Ragged.from_sequences(
            text
            for start, change in zip(starts, changed, strict=True)
            for text in (bases[start : start + _LOCUS], change)
        ),
        tuple(Region(_CONTIG, start, start + _LOCUS) for start in starts),
        np.repeat(np.arange(len(changed)), 2).astype(np.int32),
    )
    rows = []
    for number in range(count):
        locus = int(rng.integers(0, len(changed)))
        start = starts[locus]
        is_changed = rng.random() < 0.7
        middle = changed[locus] if is_changed else bases[start : start + _LOCUS]
        genome = bases[:start] + middle + bases[start + _LOCUS :]
        rows.append(_row(rng, genome, start, number))
    header = SamHeader.from_references((_CONTIG,), (_LENGTH,))
    return MadeMoves(reference, haplotypes, header, batch_of(rows))


def _bases(rng: np.random.Generator) -> str:
    text = ""
    while len(text) < _LENGTH:
        unit = "".join(rng.choice(list("ACGT"), rng.integers(1, 5)))
        repeats = int(rng.integers(1, 9)) if rng.random() < 0.2 else 1
        text += unit * repeats
    return text[:_LENGTH]


def _changed(rng: np.random.Generator, text: str) -> str:
    for _ in range(int(rng.integers(1, 3))):
        at, size = int(rng.integers(2, len(text) - 12)), int(rng.integers(1, 9))
        new = "".join(rng.choice(list("ACGT"), rng.choice([0, 1, size])))
        text = text[:at] + new + text[at + int(rng.choice([0, 1, size])) :]
    return text


def _row(rng: np.random.Generator, genome: str, start: int, number: int) -> Row:
    length = int(rng.integers(20, 140))
    position = max(0, min(start + int(rng.integers(-60, _LOCUS)), len(genome) - length))
    bases = list(genome[position : position + length])
    for at in np.flatnonzero(rng.random(length) < 0.01):
        bases[at] = str(rng.choice(list("ACGTN")))
    flag = int(rng.choice([0, 16, 1024, 256, 2048, 4], p=[0.4, 0.4, 0.05, 0.05, 0.05, 0.05]))
    cigar = () if rng.random() < 0.02 else _cigar(rng, length)
    text = "" if rng.random() < 0.02 else "".join(bases)
    clipped = cigar[0][1] if cigar and cigar[0][0] == _SOFT else 0
    return Row(
        name=f"r{number}",
        flag=flag,
        reference=0,
        position=position + clipped,
        mapping_quality=int(rng.integers(0, 61)),
        cigar=cigar,
        mate_reference=-1,
        mate_position=-1,
        template_length=0,
        bases=text,
        qualities=tuple(rng.integers(2, 41, len(text)).tolist()),
        tags=(),
    )


def _cigar(rng: np.random.Generator, length: int) -> tuple[tuple[int, int], ...]:
    left, right = (int(rng.integers(0, 10)) if rng.random() < 0.3 else 0 for _ in range(2))
    middle = length - left - right
    parts = [(_MATCH, middle)]
    kind = rng.random()
    at, size = int(rng.integers(1, middle)), int(rng.integers(1, 6))
    if kind < 0.2:
        parts = [(_MATCH, at), (_DELETION, size), (_MATCH, middle - at)]
    elif kind < 0.4 and at + size < middle:
        parts = [(_MATCH, at), (_INSERTION, size), (_MATCH, middle - at - size)]
    hard = (_HARD, 7) if rng.random() < 0.1 else (_HARD, 0)
    ends = [(_SOFT, left), *parts, (_SOFT, right), hard]
    return tuple((operation, size) for operation, size in ends if size)
