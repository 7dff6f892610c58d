"""Random records with their reads, as the stages before annotations make them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import (
    CallSites,
    ReadsAtSites,
    RegionLikelihoods,
    RegionReads,
    Segment,
    SegmentReads,
    VariantCalls,
)
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.haplotypes.batches import ReferenceSlice

POSITION = 1000
"""Reads start near this position."""


@dataclass(frozen=True)
class MadeCalls:
    calls: VariantCalls
    sites: CallSites
    reads: ReadsAtSites
    likelihoods: RegionLikelihoods
    segment: SegmentReads
    samples: int


def joined(rows: list[NDArray], dtype: type) -> Ragged:
    data = np.concatenate([np.zeros(0, dtype=dtype), *rows]).astype(dtype)
    return Ragged(data, offsets_of([row.size for row in rows]))


def random_cigar(random: np.random.Generator) -> str:
    """Draw a CIGAR of a realigned read: it starts and ends with M or I."""
    middle = random.choice(["", "2D", "1D", "3I", "1I"])
    edges = random.choice(["", "", "2I"], 2)
    first, last = random.integers(1, 8, 2)
    inner = f"{first}M{middle}{last}M" if middle else f"{first + last}M"
    return f"{edges[0]}{inner}{edges[1]}"


def query_length(cigar: NDArray) -> int:
    return sum(int(e >> 4) for e in cigar if e & 15 != 2)


def reference_length(cigar: NDArray) -> int:
    return sum(int(e >> 4) for e in cigar if e & 15 != 1)


def made_reads(
    random: np.random.Generator, count: int, samples: int
) -> tuple[ReadBatch, RegionReads]:
    """Draw records and their reads of one active region; some bases of the records are clipped."""
    cigars = [parse_cigar(random_cigar(random)) for _ in range(count)]
    lengths = np.array([query_length(c) for c in cigars], dtype=np.int64)
    before, after = random.integers(0, 3, (2, count))
    hard = [random.choice(["", "2H"], 2) for _ in range(count)]
    totals = lengths + before + after
    records = [parse_cigar(f"{h[0]}{n}M{h[1]}") for h, n in zip(hard, totals.tolist(), strict=True)]
    zeros = np.zeros(count, dtype=np.int32)
    bases = joined([np.full(n, ord("A")) for n in totals], np.uint8)
    batch = ReadBatch(
        names=joined([np.zeros(0)] * count, np.uint8),
        flags=random.choice([0, 16, 99, 147], count).astype(np.uint16),
        reference_ids=zeros,
        positions=zeros,
        mapping_qualities=random.choice(
            [0, 20, 29, 60, 255], count, p=[0.1, 0.2, 0.2, 0.4, 0.1]
        ).astype(np.uint8),
        cigars=joined(records, np.uint32),
        mate_reference_ids=zeros,
        mate_positions=zeros,
        template_lengths=zeros,
        bases=bases,
        qualities=replace(bases, data=np.full(bases.data.size, 30, dtype=np.uint8)),
        tags=joined([np.zeros(0)] * count, np.uint8),
    )
    starts = POSITION + random.integers(-8, 3, count)
    ends = starts + [reference_length(c) for c in cigars]
    regions = RegionReads(
        np.array([0, count], dtype=np.int64),
        np.arange(count, dtype=np.int64),
        random.integers(0, samples, count).astype(np.int32),
        before,
        before + lengths,
        starts,
        ends,
        joined(cigars, np.uint32),
        joined([random.integers(0, 5, n) * 10 for n in lengths], np.uint8),
    )
    return batch, regions


def chosen_rows(random: np.random.Generator, sites: int, count: int) -> tuple[NDArray, NDArray]:
    """Draw the reads at each site: offsets and rows."""
    rows = [
        np.flatnonzero(random.random(count) < random.choice([0.0, 0.5, 1.0])) for _ in range(sites)
    ]
    return offsets_of([row.size for row in rows]), np.concatenate([np.zeros(0, int), *rows])


def random_genotype(random: np.random.Generator, alleles: int) -> list[int]:
    return [-1, -1] if random.random() < 0.2 else sorted(random.integers(0, alleles, 2).tolist())


def made_calls(seed: int, samples: int, sites: int = 4, count: int = 40) -> MadeCalls:
    """Draw records at some of the sites, with some of the alleles of each site."""
    random = np.random.default_rng(seed)
    batch, reads = made_reads(random, count, samples)
    other_batch, others = made_reads(random, 5, samples)
    others = replace(others, rows=others.rows + count)
    batch = ReadBatch.concatenate([batch, other_batch])
    site_alleles = random.integers(2, 5, sites)
    starts = np.sort(POSITION + random.integers(-4, 8, sites)).astype(np.int64)
    texts = [t for n in site_alleles for t in ["A", "C", "*", "ATT"][:n]]
    call_sites = CallSites(
        np.zeros(sites, dtype=np.int64),
        starts,
        starts + random.integers(1, 3, sites),
        offsets_of(site_alleles),
        Ragged.from_sequences(texts),
        joined([np.zeros(0)] * sites, np.int16),
    )
    offsets, rows = chosen_rows(random, sites, count)
    other_offsets, other_rows = chosen_rows(random, sites, 5)
    widths = np.repeat(site_alleles, np.diff(offsets))
    values = joined([random.choice([-1.0, -1.1, -1.5, -3.0], n) for n in widths], np.float64)
    called = np.flatnonzero(random.random(sites) < 0.8)
    kept = [
        np.concatenate(
            (
                [0],
                1 + np.flatnonzero(random.random(n - 1) < 0.8),
            )
        )
        for n in site_alleles[called]
    ]
    kept = [k if k.size > 1 else np.array([0, 1]) for k in kept]
    genotypes = [[random_genotype(random, k.size) for _ in range(samples)] for k in kept]
    phred = [
        random.integers(0, 4, k.size * (k.size + 1) // 2) * 3 for k in kept for _ in range(samples)
    ]
    shape = (called.size, samples, 2)
    numbers = np.array([a for k in kept for a in k], dtype=np.int16)
    call_rows = np.repeat(call_sites.allele_offsets[called], [k.size for k in kept]) + numbers
    calls = VariantCalls(
        called,
        starts[called],
        offsets_of([k.size for k in kept]),
        call_sites.alleles.take(call_rows.astype(np.int64)),
        numbers,
        random.choice([30.0, 42.64, 100.0, 1234.567, 2819.055], called.size),
        np.array(genotypes, dtype=np.int16).reshape(shape),
        random.integers(-1, 100, shape[:2]).astype(np.int16),
        joined([p - p.min() for p in phred], np.int32),
        random.integers(0, 2 * samples + 2, numbers.size).astype(np.int32),
        np.full(called.size, 2),
    )
    segment = Segment("chr1", 100_000, 900, 1100, 0, 100_000)
    reference = ReferenceSlice(0, np.full(2000, ord("A"), dtype=np.uint8))
    return MadeCalls(
        calls,
        call_sites,
        ReadsAtSites(offsets, rows, values, other_offsets, other_rows),
        RegionLikelihoods(
            reads, values, np.zeros(count, np.int64), np.ones(count, np.bool_), others
        ),
        SegmentReads(segment, 900, 1100, reference, batch, np.zeros(len(batch), np.int32)),
        samples,
    )


def likelihood_calls(
    phred: list[list[list[int]]],
    alleles: list[int],
    genotypes: list[list[list[int]]] | None = None,
    quality: float = 50.0,
) -> VariantCalls:
    """Return records with these PL of each sample, and these genotypes."""
    count, samples = len(phred), len(phred[0])
    shape = (count, samples, 2)
    called = np.full(shape, -1) if genotypes is None else np.array(genotypes)
    numbers = np.concatenate([np.arange(n) for n in alleles])
    return VariantCalls(
        np.arange(count),
        POSITION + np.arange(count),
        offsets_of(alleles),
        Ragged.from_sequences("ACGT"[k] for k in numbers),
        numbers.astype(np.int16),
        np.full(count, quality),
        called.astype(np.int16),
        np.zeros(shape[:2], dtype=np.int16),
        joined([np.array(row, dtype=np.int32) for record in phred for row in record], np.int32),
        np.zeros(numbers.size, dtype=np.int32),
        np.full(count, 2),
    )
