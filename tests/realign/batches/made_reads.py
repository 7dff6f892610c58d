"""Made reads of made haplotypes, of all kinds that the realignment treats differently."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region
from tests.io.sam_oracle import Row, TagValue, batch_of

HEADER = SamHeader.from_references(("a", "b"), (5000, 5000))
_LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
_COMPLEMENTS = bytes.maketrans(b"ACGT", b"TGCA")
_UNMAPPED, _REVERSE = 4, 16


@dataclass(frozen=True)
class MadeReads:
    """Haplotypes, and reads named by their row number."""

    haplotypes: HaplotypeSet
    reads: ReadBatch


def made_haplotypes(
    rng: np.random.Generator, loci: int, per_locus: int, *, is_in_order: bool
) -> HaplotypeSet:
    """Make haplotypes of overlapping loci, in the order of the loci or in any order."""
    regions, sequences, index = [], [], []
    for locus in range(loci):
        start = int(rng.integers(0, 900))
        regions.append(Region("ab"[locus % 2], start, start + int(rng.integers(1, 200))))
        first = rng.choice(_LETTERS, rng.integers(60, 200))
        for _ in range(int(rng.integers(1, per_locus + 1))):
            changed = np.where(
                rng.random(first.size) < 0.02, rng.choice(_LETTERS, first.size), first
            )
            at, gap = int(rng.integers(0, first.size)), int(rng.integers(0, 4))
            sequences.append(np.delete(changed, slice(at, at + gap)).tobytes() or b"A")
            index.append(locus)
    unique = list(dict.fromkeys(regions))
    numbers = np.array([unique.index(regions[locus]) for locus in index], dtype=np.int32)
    order = np.arange(len(sequences)) if is_in_order else rng.permutation(len(sequences))
    return HaplotypeSet(
        tuple(f"h{k}" for k in range(len(sequences))),
        Ragged.from_sequences(sequences[k] for k in order),
        tuple(unique),
        numbers[order],
    )


def made_reads(
    seed: int,
    count: int,
    *,
    loci: int = 6,
    per_locus: int = 4,
    is_in_order: bool = True,
    with_loci: bool = True,
    has_qualities: bool = True,
) -> MadeReads:
    """Make haplotypes, and reads of them with differences, clips, and fields of all kinds."""
    rng = np.random.default_rng(seed)
    haplotypes = made_haplotypes(rng, loci, per_locus, is_in_order=is_in_order)
    rows = [_row(rng, haplotypes, number, has_qualities=has_qualities) for number in range(count)]
    if not with_loci:
        haplotypes = haplotypes.without_loci()
    return MadeReads(haplotypes, batch_of(rows))


def _row(
    rng: np.random.Generator, haplotypes: HaplotypeSet, number: int, *, has_qualities: bool
) -> Row:
    haplotype = int(rng.integers(0, len(haplotypes)))
    bases = _bases(rng, haplotypes.sequences[haplotype])
    kind = rng.choice(["mapped", "unmapped", "no contig", "no bases"], p=[0.7, 0.15, 0.1, 0.05])
    locus = haplotypes.loci[haplotypes.locus_index[haplotype]]
    reference = HEADER.reference_names.index(locus.contig)
    position = max(0, locus.start + int(rng.integers(-60, 60)))
    flag = int(rng.choice([0, _REVERSE, 1024, 256, 2048]))
    cigar: tuple[tuple[int, int], ...] = ()
    if kind == "mapped":
        cigar = _cigar(rng, len(bases))
    if kind in {"unmapped", "no contig"}:
        flag |= _UNMAPPED
        if rng.integers(0, 2):
            bases = bases.translate(_COMPLEMENTS)[::-1]
    if kind == "no contig":
        reference, position = -1, -1
    if kind == "no bases":
        bases, cigar = b"", ((0, 30),)
    qualities = tuple(rng.integers(2, 42, len(bases)).tolist()) if has_qualities else None
    tags: list[tuple[str, str, TagValue]] = [("NM", "C", 3), ("RG", "Z", "x")]
    tags = tags[: int(rng.integers(0, 3))]
    if bases and rng.random() < 0.3:
        name = str(rng.choice(["BI", "BD"]))
        tags.append((name, "Z", bytes(rng.integers(33, 127, len(bases)).tolist()).decode()))
    return Row(
        f"r{number}",
        flag,
        reference,
        position,
        int(rng.integers(0, 61)),
        cigar,
        -1,
        -1,
        0,
        bases.decode(),
        qualities,
        tuple(tags),
    )


def _bases(rng: np.random.Generator, haplotype: np.ndarray) -> bytes:
    """Take a part of a haplotype with differences; or random bases, which do not align."""
    if rng.random() < 0.1:
        return rng.choice(_LETTERS, rng.integers(1, 80)).tobytes()
    start = int(rng.integers(0, haplotype.size))
    part = haplotype[start : start + int(rng.integers(1, 120))].copy()
    is_changed = rng.random(part.size) < 0.03
    part[is_changed] = rng.choice(np.frombuffer(b"ACGTN=MR", dtype=np.uint8), int(is_changed.sum()))
    tail = rng.choice(_LETTERS, rng.integers(0, 10))
    return part.tobytes() + tail.tobytes()


def _cigar(rng: np.random.Generator, length: int) -> tuple[tuple[int, int], ...]:
    """Make a CIGAR that fits a read: matches, with clips, an insertion, a deletion or a skip."""
    clipped = int(rng.integers(0, min(length, 20)))
    inserted = int(rng.integers(0, min(length - clipped, 5)))
    matched = length - clipped - inserted
    gap = (int(rng.choice([2, 3])), int(rng.integers(1, 60)))
    parts = [(4, clipped), (0, matched - matched // 2), (1, inserted), gap, (0, matched // 2)]
    return tuple((operation, size) for operation, size in parts if size)
