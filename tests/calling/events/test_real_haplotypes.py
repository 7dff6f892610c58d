"""True haplotypes of two samples, aligned as after assembly: events, trimming and alleles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.projection.haplotype_cigars import end_to_end_cigars, pad_pairs
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice
from tests.calling.events.event_oracle import minimal
from tests.calling.events.made_haplotypes import (
    Event,
    Haplotype,
    alleles_of,
    haplotypes_of,
    reference_of,
    regions_of,
    rows_of,
)
from tests.calling.events.test_events import applied
from tests.truth_haplotypes import TruthLocus, truth_loci

PADDING = 100


def aligned(locus: TruthLocus) -> list[Haplotype]:
    """Return the haplotypes of a window with their CIGARs, the reference last."""
    texts = [
        bases for bases in dict.fromkeys(locus.haplotypes.values()) if bases != locus.reference
    ]
    texts.append(locus.reference)
    rows = np.arange(len(texts), dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_sequences([locus.reference]), Ragged.from_sequences(texts), 0 * rows, rows
    )
    scoring = PRESETS["haplotype-to-reference"]
    alignments = align_pairs(pad_pairs(pairs), scoring, Overhang.SOFTCLIP, CpuDevice(1))
    cigars, is_aligned = end_to_end_cigars(pairs, alignments)
    assert is_aligned.all()
    return list(zip(texts, cigar_strings(cigars), strict=True))


def true_events(locus: TruthLocus) -> set[Event]:
    """Return the alleles that start within the active span."""
    events = set()
    for variant in locus.variants:
        ref = locus.reference[variant.start - locus.start : variant.end - locus.start]
        if locus.start + PADDING <= variant.start < locus.end - PADDING:
            events |= {minimal((variant.start, ref, alt)) for alt in {*variant.alleles} - {ref}}
    return events


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_true_alleles_are_found(data_dir: Path, sample: str) -> None:
    directory = data_dir / "illumina_na12878"
    fasta = directory / "chr20.hg19.fa.gz"
    loci = truth_loci(fasta, directory / f"{sample}.truth.dev.vcf.gz")
    first, last = loci[0].start, loci[-1].end
    with pysam.FastaFile(str(fasta)) as source:
        bases = source.fetch("chr20", first, last).upper()
    reference = reference_of(bases, first)
    rows = [aligned(locus) for locus in loci]
    spans = [(locus.start + PADDING, locus.end - PADDING, locus.start, locus.end) for locus in loci]
    haplotypes = haplotypes_of(rows, [locus.reference for locus in loci])
    trimmed = trimmed_to_variants(haplotypes, regions_of(*spans), reference)
    assert trimmed.kept.tolist() == list(range(len(loci)))

    events = rows_of(trimmed.events, reference)
    for row, region in enumerate(trimmed.haplotypes.regions):
        start, end = trimmed.regions.padded_starts[region], trimmed.regions.padded_ends[region]
        own = [(position - int(start), ref, alt) for position, ref, alt in events[row]]
        made = applied(bases[start - first : end - first], own)
        assert made == bytes(trimmed.haplotypes.bases[row]).decode()

    sites = call_sites(trimmed, reference)
    found = set()
    for site, start in enumerate(sites.starts.tolist()):
        ref, *alternates = alleles_of(sites, site)
        found |= {minimal((start, ref, alt)) for alt in alternates if alt != "*"}
    true = set().union(*map(true_events, loci))
    assert len(true) > 50
    assert found == true
