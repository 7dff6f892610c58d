"""Annotations of random records, against the reference implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hapgpu.calling.genotypes.annotation_fields import FIELDS
from hapgpu.calling.genotypes.annotations import annotations_of
from tests.calling.annotations import reference
from tests.calling.annotations.reference import Read
from tests.calling.made_calls import MadeCalls, made_calls


def read_of(made: MadeCalls, x: int) -> Read:
    reads, records = made.likelihoods.reads, made.segment.reads
    k = int(made.reads.reads[x])
    row = int(reads.rows[k])
    cigar = [(int(e >> 4), "MID"[e & 15]) for e in reads.cigars[k]]
    hard = [int(e >> 4) if e & 15 == 5 else 0 for e in records.cigars[row][[0, -1]]]
    after = records.bases[row].size - int(reads.base_ends[k])
    return Read(
        int(reads.samples[k]),
        bool(records.flags[row] & 16),
        int(records.mapping_qualities[row]),
        made.reads.likelihoods[x].tolist(),
        int(reads.starts[k]),
        cigar,
        reads.qualities[k].tolist(),
        (hard[0] + int(reads.base_starts[k]), after + hard[1]),
    )


def rank_sum_of(reads: list[Read], alleles: list[int], values: list[int | None]) -> float:
    sides: tuple[list[int], list[int]] = ([], [])
    for read, value in zip(reads, values, strict=True):
        allele = reference.supported(read.likelihoods, range(len(read.likelihoods)))
        if allele in alleles and value is not None and read.mapping_quality not in (0, 255):
            sides[allele != 0].append(value)
    return reference.rank_sum(sides[1], sides[0])


def genotype_counts(phred: list[list[int]], alleles: int) -> list[int]:
    """Count samples without an ALT, with one, and without REF, by their likelihoods."""
    counts = [0, 0, 0]
    for values in phred:
        order = [(i, j) for j in range(alleles) for i in range(j + 1)]
        best = order[values.index(min(values))]
        if alleles > 2 and best[0] > 0:
            counts[2] += 1
            continue
        hets = [values[order.index((0, j))] for j in range(1, alleles)]
        j = 1 + hets.index(min(hets))
        weights = [10 ** (-values[order.index(g)] / 10) for g in ((0, 0), (0, j), (j, j))]
        half = sum(weights) / 2
        counts[0] += weights[0] >= half
        counts[1] += weights[1] >= half and weights[0] != weights[1]
        counts[2] += weights[2] >= half and weights[1] != weights[2]
    return counts


def expected_values(
    made: MadeCalls, record: int, depths: list[list[int]], all_reads: list[int]
) -> dict[str, float]:
    calls, samples = made.calls, made.samples
    site = int(calls.sites[record])
    first, end = calls.allele_offsets[record : record + 2]
    alleles = calls.site_alleles[first:end].tolist()
    reads = [read_of(made, x) for x in range(*made.reads.offsets[site : site + 2])]
    start, stop = int(made.sites.starts[site]), int(made.sites.ends[site])
    values = [reference.values_at(read, start, stop) for read in reads]
    phred = [calls.phred_likelihoods[record * samples + k].tolist() for k in range(samples)]
    qualities = [read.mapping_quality for read in reads] + other_qualities(made, site)
    known = [q for q in qualities if q != 255]
    counts = genotype_counts(phred, len(alleles))
    return {
        "BaseQRankSum": rank_sum_of(reads, alleles, [v[0] for v in values]),
        "ExcessHet": reference.excess_heterozygosity(*counts),
        "FS": reference.fisher_strand(reference.strand_table(reads, alleles, samples, 3)),
        "MQ": math.sqrt(sum(q * q for q in known) / len(known)) if known else math.nan,
        "MQRankSum": rank_sum_of(reads, alleles, [read.mapping_quality for read in reads]),
        "QD": reference.quality_by_depth(
            calls.qualities[record], calls.genotypes[record].tolist(), depths, all_reads
        ),
        "ReadPosRankSum": rank_sum_of(reads, alleles, [v[1] for v in values]),
        "SOR": reference.odds_ratio(reference.strand_table(reads, alleles, samples, 0)),
    }


def other_qualities(made: MadeCalls, site: int) -> list[int]:
    at = made.reads.others[slice(*made.reads.other_offsets[site : site + 2])]
    rows = made.likelihoods.others.rows[at]
    return made.segment.reads.mapping_qualities[rows].tolist()


def expected_depths(made: MadeCalls, record: int) -> tuple[list[list[int]], list[int]]:
    calls = made.calls
    site = int(calls.sites[record])
    first, end = calls.allele_offsets[record : record + 2]
    alleles = calls.site_alleles[first:end].tolist()
    depths = [[0] * len(alleles) for _ in range(made.samples)]
    counts = [0] * made.samples
    for x in range(*made.reads.offsets[site : site + 2]):
        read = read_of(made, x)
        counts[read.sample] += 1
        allele = reference.supported(read.likelihoods, alleles)
        if allele is not None:
            depths[read.sample][alleles.index(allele)] += 1
    for y in made.reads.others[slice(*made.reads.other_offsets[site : site + 2])]:
        counts[made.likelihoods.others.samples[y]] += 1
    return depths, counts


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_random_records(samples: int) -> None:
    defined = {field.name: 0 for field in FIELDS}
    for seed in range(60):
        made = made_calls(seed, samples, count=12 if seed % 3 else 40)
        found = annotations_of(
            made.calls, made.sites, made.reads, made.likelihoods, made.segment, samples
        )
        for record in range(len(made.calls)):
            depths, counts = expected_depths(made, record)
            rows = range(record * samples, (record + 1) * samples)
            assert [found.allele_depths[row].tolist() for row in rows] == depths
            assert found.sample_depths[record].tolist() == [sum(row) for row in depths]
            assert found.depths[record] == sum(counts)
            expected = expected_values(made, record, depths, counts)
            for column, field in enumerate(FIELDS):
                value = found.values[record, column]
                assert value == pytest.approx(expected[field.name], 1e-9, 1e-9, nan_ok=True), field
                defined[field.name] += not math.isnan(value)
    assert min(defined.values()) > 20


def test_no_records() -> None:
    made = made_calls(1, 2, sites=0)
    found = annotations_of(made.calls, made.sites, made.reads, made.likelihoods, made.segment, 2)
    assert found.values.shape == (0, len(FIELDS))
    assert found.depths.shape == (0,)
    assert found.sample_depths.shape == (0, 2)
    assert len(found.allele_depths) == 0
    assert np.isnan(found.values).sum() == 0
