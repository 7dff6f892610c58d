"""Annotations of random records, against the reference implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import (
    ALLELE_RANK_SUMS,
    DEFAULT_FIELDS,
    DEFAULT_GENOMIC_FIELDS,
    FIELDS,
    EnabledFields,
    enabled_fields,
)
from hapgpu.calling.annotations.selection import SUPPORTED
from hapgpu.calling.batches import Annotations
from hapgpu.calling.options import AnnotationOptions
from hapgpu.calling.record_columns import NO_REFERENCE, NO_SCORE, AlleleAnnotations
from tests.calling.annotations import reference
from tests.calling.annotations.reference import Read
from tests.calling.made_calls import MadeCalls, made_calls

ALL = AnnotationOptions(classes=SUPPORTED, counts_discovered=True)


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


def rank_sum_of(reads: list[Read], alleles: list[int], values: list[float | None]) -> float:
    sides: tuple[list[float], list[float]] = ([], [])
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
    every = range(int(np.diff(made.sites.allele_offsets)[site]))
    best = [max(read.likelihoods[k] for k in every) for read in reads]
    return {
        "ClippingRankSum": rank_sum_of(reads, alleles, [sum(read.clipped) for read in reads]),
        "InbreedingCoeff": math.nan,
        "LikelihoodRankSum": rank_sum_of(reads, alleles, best),
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


def annotated(made: MadeCalls, fields: EnabledFields = DEFAULT_FIELDS) -> Annotations:
    """Annotate with the fields of an output."""
    columns = made.calls, made.sites, made.reads, made.likelihoods, made.segment
    return annotations_of(*columns, made.samples, fields=fields)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_random_records(samples: int) -> None:
    defined = {field.name: 0 for field in FIELDS}
    for seed in range(60):
        made = made_calls(seed, samples, count=12 if seed % 3 else 40)
        found = annotated(made, enabled_fields(ALL))
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
    assert defined.pop("InbreedingCoeff") == 0  # needs ten samples
    assert min(defined.values()) > 20


def test_no_records() -> None:
    made = made_calls(1, 2, sites=0)
    found = annotated(made)
    assert found.values.shape == (0, len(FIELDS))
    assert found.depths.shape == (0,)
    assert found.sample_depths.shape == (0, 2)
    assert len(found.allele_depths) == 0
    assert np.isnan(found.values).sum() == 0


def test_only_enabled_fields_are_computed() -> None:
    made = made_calls(3, 1, count=40)
    every = annotated(made, enabled_fields(ALL))
    for one in SUPPORTED:
        for is_genomic in (False, True):
            fields = enabled_fields(
                AnnotationOptions(classes=frozenset({one})), is_genomic=is_genomic
            )
            found = annotated(made, fields)
            for column, field in enumerate(FIELDS):
                expected = every.values[:, column] if fields.has(field.name) else np.nan
                if field.name == "QD":
                    continue  # depends on AD: see the next test
                if field.name not in {"FS", "SOR"} or fields.has(field.name):
                    np.testing.assert_array_equal(found.values[:, column], expected)
            assert (found.zero_qualities is None) == (one != "MappingQualityZero")
            assert (found.repeats is None) == (one != "TandemRepeat" or is_genomic)
            has_alleles = any(name.startswith(("AS_RAW", "AS_SB")) for name in fields.info)
            assert (found.alleles is None) != has_alleles
            assert found.discovered_alleles is None


def test_without_allele_depths_all_reads_count_in_qd() -> None:
    made = made_calls(5, 2, count=40)
    fields = enabled_fields(AnnotationOptions(classes=frozenset({"QualByDepth"})))
    found = annotated(made, fields).values[:, [f.name for f in FIELDS].index("QD")]
    for record in range(len(made.calls)):
        _, counts = expected_depths(made, record)
        expected = reference.quality_by_depth(
            made.calls.qualities[record],
            made.calls.genotypes[record].tolist(),
            [[0]] * made.samples,
            read_counts(made, record),
        )
        assert found[record] == pytest.approx(expected, nan_ok=True), counts


def read_counts(made: MadeCalls, record: int) -> list[int]:
    return expected_depths(made, record)[1]


def test_counts_of_reads_and_alleles() -> None:
    zeros = 0
    for seed in range(20):
        made = made_calls(seed, 2)
        found = annotated(made, enabled_fields(ALL))
        assert found.zero_qualities is not None
        assert found.discovered_alleles is not None
        for record in range(len(made.calls)):
            site = int(made.calls.sites[record])
            reads = [read_of(made, x) for x in range(*made.reads.offsets[site : site + 2])]
            qualities = [read.mapping_quality for read in reads] + other_qualities(made, site)
            assert found.zero_qualities[record] == qualities.count(0)
            zeros += qualities.count(0)
            alleles = made.sites.allele_offsets[site + 1] - made.sites.allele_offsets[site]
            assert found.discovered_alleles[record] == alleles - 1
    assert zeros > 50


def bin_of(score: float) -> int:
    return math.floor((score + 0.01 * 0.1) / 0.1)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(-0.05, -1), (0.099, 1), (0.0, 0), (0.0989, 0), (2.136, 21), (-2.0, -20)],
)
def test_bins_of_the_oracle(score: float, expected: int) -> None:
    """Facts of GATK's Histogram: -0.05 is in -0.1, and 0.099 in 0.1."""
    assert bin_of(score) == expected


@pytest.mark.parametrize("count", [2, 4, 12, 40])
def test_allele_specific_annotations(count: int) -> None:
    seen = {NO_SCORE: 0, NO_REFERENCE: 0, 0: 0}
    for seed in range(60):
        made = made_calls(seed, 1, count=count)
        found = annotated(made, enabled_fields(ALL, is_genomic=True)).alleles
        assert found is not None
        for record in range(len(made.calls)):
            check_alleles(made, record, found, seen)
    assert min(seen.values()) > 5 or count < 12


def check_alleles(
    made: MadeCalls, record: int, found: AlleleAnnotations, seen: dict[int, int]
) -> None:
    site = int(made.calls.sites[record])
    first, end = made.calls.allele_offsets[record : record + 2]
    numbers = made.calls.site_alleles[first:end].tolist()
    reads = [read_of(made, x) for x in range(*made.reads.offsets[site : site + 2])]
    best = [reference.supported(read.likelihoods, range(len(read.likelihoods))) for read in reads]
    of_allele = [[r for r, a in zip(reads, best, strict=True) if a == n] for n in numbers]
    start, stop = int(made.sites.starts[site]), int(made.sites.ends[site])
    few = sum(map(len, of_allele)) <= 2
    for k, own in enumerate(of_allele):
        strands = [sum(r.is_reverse == side for r in own) for side in (False, True)]
        assert found.strands[first + k].tolist() == ([0, 0] if few else strands)
        known = [r.mapping_quality for r in own if r.mapping_quality != 255]
        assert found.squares[first + k] == sum(q * q for q in known)
        for row, name in enumerate(ALLELE_RANK_SUMS):
            expected = bin_for(name, of_allele, k, (start, stop))
            seen[min(expected, 0) if expected < -1000 else 0] += 1
            assert found.rank_sums[row, first + k] == expected


def bin_for(name: str, of_allele: list[list[Read]], k: int, span: tuple[int, int]) -> int:
    def values(reads: list[Read]) -> list[int]:
        usable = [r for r in reads if r.mapping_quality not in (0, 255)]
        if name == "AS_RAW_MQRankSum":
            return [r.mapping_quality for r in usable]
        column = name == "AS_RAW_ReadPosRankSum"
        found = [reference.values_at(r, *span)[column] for r in usable]
        return [value for value in found if value is not None]

    if k == 0 or not values(of_allele[0]):
        return NO_REFERENCE
    score = reference.rank_sum(values(of_allele[k]), values(of_allele[0]))
    return NO_SCORE if math.isnan(score) else bin_of(score)


def test_default_genomic_fields_compute_no_alleles() -> None:
    assert annotated(made_calls(1, 1), DEFAULT_GENOMIC_FIELDS).alleles is None
