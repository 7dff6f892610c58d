"""Stages from haplotypes to annotations on real reads, against their reference implementations."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import FIELDS, enabled_fields
from hapgpu.calling.annotations.selection import SUPPORTED
from hapgpu.calling.assembly.assembler import assembled_haplotypes
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, TrimmedRegions
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.genotypes.kept_alleles import pseudo_counts
from hapgpu.calling.genotypes.site_reads import site_reads
from hapgpu.calling.options import AnnotationOptions, CallOptions
from hapgpu.calling.reads.finalized import finalized_reads, reclipped_reads
from hapgpu.calling.regions.active_regions import active_regions
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.runtime.devices import CpuDevice
from tests.calling.annotations.test_annotator import expected_depths, expected_values
from tests.calling.cpu_likelihoods import haplotype_likelihoods
from tests.calling.events.event_oracle import (
    expected_alleles,
    expected_cut,
    expected_events,
    expected_span,
)
from tests.calling.events.made_haplotypes import Event, Haplotype
from tests.calling.genotypes.reference import phreds_reference, variant_reference
from tests.calling.likelihoods.reference import allele_likelihoods_reference, is_at_site_reference
from tests.calling.made_calls import MadeCalls
from tests.calling.segments import segment_reads

START = 10_000_000
OPTIONS = CallOptions()


def haplotypes_of(haplotypes: RegionHaplotypes, region: int) -> list[Haplotype]:
    rows = range(*haplotypes.offsets[region : region + 2])
    texts = cigar_strings(haplotypes.cigars)
    return [(haplotypes.bases[row].tobytes().decode(), texts[row]) for row in rows]


def spans_of(regions: ActiveRegions, origin: int) -> list[tuple[int, int, int, int]]:
    columns = regions.starts, regions.ends, regions.padded_starts, regions.padded_ends
    return list(zip(*((column - origin).tolist() for column in columns), strict=True))


def check_trimmed(
    haplotypes: RegionHaplotypes,
    regions: ActiveRegions,
    trimmed: TrimmedRegions,
    origin: int,
    reference: str,
) -> list[list[list[Event]]]:
    """Check trimmed spans and haplotypes; return the events of each haplotype of each region."""
    kept, spans, found = [], [], []
    for k, region in enumerate(spans_of(regions, origin)):
        rows = haplotypes_of(haplotypes, k)
        events = [expected_events(row, region[2], reference) for row in rows]
        span = expected_span(list(chain(*events)), region, reference)
        if span is None:
            continue
        cut = (expected_cut(row, region[2], *span[2:]) for row in rows)
        left = {row[0] for row in cut if row}
        if len(left) > 1:
            kept.append(k)
            spans.append(span)
            found.append(sorted(left, key=lambda bases: (len(bases), bases)))
    assert trimmed.kept.tolist() == kept
    assert spans_of(trimmed.regions, origin) == spans
    own = [haplotypes_of(trimmed.haplotypes, k) for k in range(len(kept))]
    assert [[bases for bases, _ in rows] for rows in own] == found
    return [
        [expected_events(row, span[2], reference) for row in rows]
        for rows, span in zip(own, spans, strict=True)
    ]


def check_genotypes(
    made: MadeCalls,
    trimmed: TrimmedRegions,
    events: list[list[list[Event]]],
    origin: int,
    reference: str,
) -> None:
    """Check sites, reads at sites, PL, alleles kept, QUAL and genotypes."""
    sites, likelihoods, calls = made.sites, made.likelihoods, made.calls
    site, record, covered = 0, 0, -1
    for region, (start, end, *_) in enumerate(spans_of(trimmed.regions, origin)):
        rows = range(*likelihoods.reads.offsets[region : region + 2])
        positions = {event[0] for own in events[region] for event in own}
        for position in sorted(p for p in positions if start <= p < end):
            alleles, numbers = expected_alleles(events[region], position, reference)
            assert sites.starts[site] == position + origin
            assert sites.haplotype_alleles[site].tolist() == numbers
            span = range(position + origin, position + origin + len(alleles[0]))
            at = [
                row
                for row in rows
                if is_at_site_reference(
                    range(likelihoods.reads.starts[row], likelihoods.reads.ends[row]), span
                )
            ]
            assert made.reads.reads[slice(*made.reads.offsets[site : site + 2])].tolist() == at
            samples: list[list[list[float]]] = [[] for _ in range(made.samples)]
            for row in at:
                values = likelihoods.likelihoods[row].tolist()
                own = allele_likelihoods_reference(values, numbers, len(alleles))
                samples[likelihoods.reads.samples[row]].append(own)
            phreds = [phreds_reference(own, len(alleles)) for own in samples]
            expected = variant_reference(
                alleles, phreds, pseudo_counts(OPTIONS.genotyping), position <= covered, 30.0, 6
            )
            if expected is not None:
                assert calls.sites[record] == site
                assert calls.qualities[record] == pytest.approx(expected.quality, abs=1e-6)
                first = record * made.samples
                found = [calls.phred_likelihoods[first + k].tolist() for k in range(made.samples)]
                assert found == expected.phreds
                genotypes = calls.genotypes[record].tolist()
                assert genotypes == [list(g) if g else [-1, -1] for g in expected.genotypes]
                own_alleles = range(*calls.allele_offsets[record : record + 2])
                texts = [calls.alleles[k].tobytes().decode() for k in own_alleles]
                assert texts == expected.alleles
                shortest = min(len(alleles[k]) for k in expected.kept)
                if shortest < len(alleles[0]):
                    covered = max(covered, position + len(alleles[0]) - shortest)
                record += 1
            site += 1
    assert (site, record) == (len(sites), len(calls))


def check_annotations(made: MadeCalls) -> None:
    found = annotations_of(
        made.calls,
        made.sites,
        made.reads,
        made.likelihoods,
        made.segment,
        made.samples,
        fields=enabled_fields(AnnotationOptions(classes=SUPPORTED)),
    )
    for record in range(len(made.calls)):
        depths, counts = expected_depths(made, record)
        rows = range(record * made.samples, (record + 1) * made.samples)
        assert [found.allele_depths[row].tolist() for row in rows] == depths
        assert found.depths[record] == sum(counts)
        expected = expected_values(made, record, depths, counts)
        values = dict(zip((field.name for field in FIELDS), found.values[record], strict=True))
        assert values == pytest.approx(expected, 1e-9, 1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("names", "end"),
    [
        (["NA12878", "HG002"], START + 12_000),
        pytest.param(["NA12878"], START + 50_000, marks=pytest.mark.exhaustive),
        pytest.param(["HG002"], START + 50_000, marks=pytest.mark.exhaustive),
        pytest.param(["NA12878", "HG002"], START + 50_000, marks=pytest.mark.exhaustive),
    ],
)
def test_real_reads(data_dir: Path, names: list[str], end: int) -> None:
    """Likelihoods given haplotypes, and realignments, are those of the stages."""
    files = [data_dir / "illumina_na12878" / f"{name}.chr20.dev.bam" for name in names]
    segment, device = segment_reads(files, "chr20", START, end), CpuDevice(1)
    origin, reference = segment.reference.start, segment.reference.bases.tobytes().decode()
    regions = active_regions(segment, len(names), OPTIONS.genotyping)
    assert regions is not None
    reads = finalized_reads(segment, regions, OPTIONS.assembly)
    haplotypes, _ = assembled_haplotypes(reads, segment, regions, OPTIONS.assembly, device)
    trimmed = trimmed_to_variants(haplotypes, regions, segment.reference)
    events = check_trimmed(haplotypes, regions, trimmed, origin, reference)
    reads = reclipped_reads(reads, segment, trimmed)
    likelihoods = haplotype_likelihoods(reads, segment, trimmed, OPTIONS)
    sites = call_sites(trimmed, segment.reference)
    at_sites = site_reads(sites, likelihoods)
    diploid = np.full(trimmed.kept.size, 2)
    calls = called_variants(sites, at_sites, likelihoods, len(names), OPTIONS.genotyping, diploid)
    made = MadeCalls(calls, sites, at_sites, likelihoods, segment, len(names))
    check_genotypes(made, trimmed, events, origin, reference)
    check_annotations(made)
    assert np.diff(calls.allele_offsets).max() > 2
