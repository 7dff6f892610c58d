"""Active regions with made haplotypes, and reads of these."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import (
    ActiveRegions,
    Events,
    RegionHaplotypes,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
)
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.haplotypes.batches import ReferenceSlice

SAMPLES = 2
_START = 5000


@dataclass(frozen=True)
class MadeHaplotype:
    """A haplotype of an active region, with its alignment to the reference."""

    bases: str
    cigar: str
    is_reference: bool


@dataclass(frozen=True)
class MadeRead:
    """A record, the part of it that an active region has, and the qualities of the part."""

    bases: str
    record_qualities: tuple[int, ...]
    mapping_quality: int
    mate_contig: int
    tags: bytes
    start: int
    end: int
    qualities: tuple[int, ...]
    position: int
    sample: int

    @property
    def part(self) -> str:
        return self.bases[self.start : self.end]


@dataclass(frozen=True)
class MadeRegion:
    """An active region: its padded span starts at `start`."""

    start: int
    haplotypes: tuple[MadeHaplotype, ...]
    reads: tuple[MadeRead, ...]

    @property
    def reference(self) -> str:
        return next(one.bases for one in self.haplotypes if one.is_reference)


def random_regions(random: Random, count: int) -> list[MadeRegion]:
    """Draw active regions of 60 to 150 bases with up to 5 haplotypes and up to 12 reads each."""
    return [random_region(random, _START + 400 * k) for k in range(count)]


def random_region(random: Random, start: int) -> MadeRegion:
    letters = random.choice(["ACGT", "AC"])
    reference = "".join(random.choices(letters, k=random.randint(60, 150)))
    haplotypes = {reference: MadeHaplotype(reference, f"{len(reference)}M", is_reference=True)}
    for _ in range(random.randint(1, 5)):
        one = random_haplotype(random, reference)
        haplotypes.setdefault(one.bases, one)
    ordered = sorted(haplotypes.values(), key=lambda one: (len(one.bases), one.bases))
    reads = [random_read(random, ordered, start) for _ in range(random.choice([0, 1, 12]))]
    return MadeRegion(start, tuple(ordered), tuple(reads))


def random_haplotype(random: Random, reference: str) -> MadeHaplotype:
    """Change a base, or delete or insert up to 5 bases."""
    at, size = random.randint(10, len(reference) - 20), random.randint(1, 5)
    before, after = reference[:at], reference[at:]
    kind = random.choice("XID")
    if kind == "X":
        bases, cigar = before + random.choice("ACGT") + after[1:], f"{len(reference)}M"
    elif kind == "I":
        inserted = "".join(random.choices("ACGT", k=size))
        bases, cigar = before + inserted + after, f"{at}M{size}I{len(after)}M"
    else:
        bases, cigar = before + after[size:], f"{at}M{size}D{len(after) - size}M"
    return MadeHaplotype(bases, cigar, is_reference=False)


def random_read(random: Random, haplotypes: list[MadeHaplotype], start: int) -> MadeRead:
    """Draw a read of a haplotype with errors, or of no haplotype, in a longer record."""
    haplotype = random.choice(haplotypes).bases
    first = random.randint(0, len(haplotype) - 8)
    part = list(haplotype[first : first + random.randint(8, 90)])
    for k in range(len(part)):
        if random.random() < random.choice([0.0, 0.01, 0.3]):
            part[k] = random.choice("ACGTN")
    before, after = ("".join(random.choices("ACGT", k=random.randint(0, 9))) for _ in "12")
    bases = before + "".join(part) + after
    lowered = tuple(random.choice([0, 2, 17, 18, 30, 37]) for _ in part)
    tags = b"".join(
        name + b"Z" + bytes(random.choices(range(33, 90), k=len(bases))) + b"\0"
        for name in (b"BI", b"BD")
        if random.random() < 0.2
    )
    return MadeRead(
        bases,
        tuple(random.randint(2, 40) for _ in bases),
        random.choice([19, 20, 30, 60]),
        random.choice([0, 0, 0, 1]),
        tags,
        len(before),
        len(before) + len(part),
        lowered,
        start + first,
        random.randrange(SAMPLES),
    )


def trimmed_of(regions: list[MadeRegion]) -> TrimmedRegions:
    """Return the haplotypes, without their events."""
    haplotypes = [one for region in regions for one in region.haplotypes]
    starts = np.array([region.start for region in regions], dtype=np.int64)
    ends = starts + np.array([len(region.reference) for region in regions], dtype=np.int64)
    nowhere = np.empty(0, dtype=np.int64)
    return TrimmedRegions(
        np.arange(len(regions)),
        ActiveRegions(starts + 10, ends - 10, starts, ends),
        RegionHaplotypes(
            offsets_of([len(region.haplotypes) for region in regions]),
            Ragged.from_sequences([one.bases for one in haplotypes]),
            cigars_of([one.cigar for one in haplotypes]),
            np.array([one.is_reference for one in haplotypes], dtype=np.bool_),
            np.full(len(haplotypes), -1.0),
        ),
        Events(
            np.zeros(len(haplotypes) + 1, dtype=np.int64),
            nowhere,
            nowhere,
            Ragged.from_sequences([]),
        ),
    )


def cigars_of(texts: list[str]) -> Ragged:
    """Return CIGARs."""
    elements = [parse_cigar(text) for text in texts]
    joined = np.concatenate([np.empty(0, dtype=np.uint32), *elements])
    return Ragged.from_lengths(joined, [cigar.size for cigar in elements])


def segment_of(regions: list[MadeRegion]) -> SegmentReads:
    """Return the records of the reads, in the order of the active regions."""
    reads = [read for region in regions for read in region.reads]
    count = len(reads)
    bases = Ragged.from_sequences([read.bases for read in reads])
    qualities = np.array([q for read in reads for q in read.record_qualities], dtype=np.uint8)
    batch = ReadBatch(
        names=Ragged.from_sequences([f"read{row}" for row in range(count)]),
        flags=np.full(count, 1, dtype=np.uint16),
        reference_ids=np.zeros(count, dtype=np.int32),
        positions=np.array([read.position for read in reads], dtype=np.int32),
        mapping_qualities=np.array([read.mapping_quality for read in reads], dtype=np.uint8),
        cigars=cigars_of([f"{len(read.bases)}M" for read in reads]),
        mate_reference_ids=np.array([read.mate_contig for read in reads], dtype=np.int32),
        mate_positions=np.full(count, 100, dtype=np.int32),
        template_lengths=np.zeros(count, dtype=np.int32),
        bases=bases,
        qualities=Ragged(qualities, bases.offsets),
        tags=Ragged.from_sequences([read.tags for read in reads]),
    )
    return SegmentReads(
        Segment("chr", 100_000, 0, 100_000, 0, 100_000),
        0,
        100_000,
        ReferenceSlice(0, np.full(100_000, ord("A"), dtype=np.uint8)),
        batch,
        np.array([read.sample for read in reads], dtype=np.int32),
    )


def region_reads_of(regions: list[MadeRegion]) -> RegionReads:
    """Return the parts of the records, aligned without gaps."""
    reads = [read for region in regions for read in region.reads]
    starts = np.array([read.position for read in reads], dtype=np.int64)
    lengths = np.array([len(read.part) for read in reads], dtype=np.int64)
    qualities = np.array([q for read in reads for q in read.qualities], dtype=np.uint8)
    return RegionReads(
        offsets_of([len(region.reads) for region in regions]),
        np.arange(len(reads)),
        np.array([read.sample for read in reads], dtype=np.int32),
        np.array([read.start for read in reads], dtype=np.int64),
        np.array([read.end for read in reads], dtype=np.int64),
        starts,
        starts + lengths,
        cigars_of([f"{length}M" for length in lengths]),
        Ragged.from_lengths(qualities, lengths),
    )
