"""Genotypes of real reads at known sites that lie apart, from likelihoods to calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import (
    ActiveRegions,
    CallSites,
    Events,
    RegionHaplotypes,
    SegmentReads,
    TrimmedRegions,
)
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.genotypes.site_reads import site_reads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.finalized import finalized_reads, reclipped_reads
from hapgpu.cigar.encoding import parse_cigar
from tests.calling.cpu_likelihoods import haplotype_likelihoods
from tests.calling.segments import segment_reads

START, END = 10_000_000, 10_050_000
APART = 150
PADDING = 75
"""Bases of haplotypes on both sides of a site."""


def sites_apart(path: Path) -> list[pysam.VariantRecord]:
    """Return the sites with one ALT that are far from the next."""
    with pysam.VariantFile(str(path)) as file:
        records = [record for record in file if START + 500 < record.start < END - 500]
    starts = [-APART, *(record.start for record in records), END + APART]
    return [
        record
        for k, record in enumerate(records, 1)
        if starts[k] - starts[k - 1] > APART < starts[k + 1] - starts[k]
        and len(record.alleles) == 2
        and min(map(len, record.alleles)) == 1
    ]


def haplotypes_of(records: list[pysam.VariantRecord], segment: SegmentReads) -> RegionHaplotypes:
    """Return the haplotypes of REF and ALT of each site."""
    sequences, cigars = [], []
    for record in records:
        first = record.start - PADDING - segment.reference.start
        last = record.stop + PADDING - segment.reference.start
        reference = segment.reference.bases[first:last].tobytes().decode()
        alternate = reference[:PADDING] + record.alts[0] + reference[-PADDING:]
        sequences += [reference, alternate]
        inserted = len(record.alts[0]) - len(record.ref)
        gap = {0: "", 1: f"{inserted}I", -1: f"{-inserted}D"}[np.sign(inserted)]
        before = PADDING + 1 if gap else len(reference)
        cigars += [f"{len(reference)}M", f"{before}M{gap}{PADDING}M" if gap else f"{before}M"]
    elements = [parse_cigar(cigar) for cigar in cigars]
    return RegionHaplotypes(
        2 * np.arange(len(records) + 1),
        Ragged.from_sequences(sequences),
        Ragged.from_lengths(np.concatenate(elements), [cigar.size for cigar in elements]),
        np.tile([True, False], len(records)),
        np.tile([np.nan, -1.0], len(records)),
    )


def call_sites_of(records: list[pysam.VariantRecord]) -> CallSites:
    count = len(records)
    return CallSites(
        np.arange(count),
        np.array([record.start for record in records], dtype=np.int64),
        np.array([record.stop for record in records], dtype=np.int64),
        2 * np.arange(count + 1),
        Ragged.from_sequences([allele for record in records for allele in record.alleles]),
        Ragged.from_lengths(np.tile(np.arange(2, dtype=np.int16), count), [2] * count),
    )


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_sites_of_the_truth_set(data_dir: Path, sample: str) -> None:
    illumina = data_dir / "illumina_na12878"
    segment = segment_reads(illumina / f"{sample}.chr20.dev.bam", "chr20", START, END)
    records = sites_apart(illumina / f"{sample}.truth.dev.vcf.gz")
    assert len(records) > 30
    starts = np.array([record.start for record in records], dtype=np.int64)
    ends = np.array([record.stop for record in records], dtype=np.int64)
    regions = ActiveRegions(starts, ends, starts - PADDING, ends + PADDING)
    none = np.zeros(0, dtype=np.int64)
    events = Events(np.zeros(2 * len(records) + 1, np.int64), none, none, Ragged.from_sequences([]))
    haplotypes = haplotypes_of(records, segment)
    trimmed = TrimmedRegions(np.arange(len(records)), regions, haplotypes, events)
    options = CallOptions()
    reads = finalized_reads(segment, regions, options.assembly)
    reads = reclipped_reads(reads, segment, trimmed)
    likelihoods = haplotype_likelihoods(reads, segment, trimmed, options)
    sites = call_sites_of(records)
    at_sites = site_reads(sites, likelihoods)
    diploid = np.full(len(records), 2)
    variants = called_variants(sites, at_sites, likelihoods, 1, options.genotyping, diploid)
    called = dict(zip(variants.sites.tolist(), variants.genotypes[:, 0].tolist(), strict=True))
    wrong = [
        (record.pos, record.alleles, called.get(row))
        for row, record in enumerate(records)
        if called.get(row) != sorted(record.samples[0]["GT"])
    ]
    assert not wrong
