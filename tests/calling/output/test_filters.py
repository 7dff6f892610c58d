"""FILTER by thresholds, against decimal arithmetic on the written values."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import FIELDS, enabled_fields
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.options import AnnotationOptions
from hapgpu.calling.output.call_lines import call_lines
from hapgpu.calling.output.filters import FILTERS, filters_of
from hapgpu.calling.record_columns import RecordMarks
from tests.calling.made_calls import likelihood_calls, made_calls

NAMES = [field.name for field in FIELDS]
WRITTEN = enabled_fields(AnnotationOptions(has_filters=True))


def records(alleles: list[list[str]], qualities: list[float]) -> VariantCalls:
    phred = [[[0] * (len(row) * (len(row) + 1) // 2)] for row in alleles]
    return replace(
        likelihood_calls(phred, [len(row) for row in alleles]),
        qualities=np.array(qualities),
        alleles=Ragged.from_sequences(text for row in alleles for text in row),
    )


def annotated(calls: VariantCalls, values: list[dict[str, float]]) -> Annotations:
    count = len(calls)
    table = np.full((count, len(FIELDS)), np.nan)
    for row, found in zip(table, values, strict=True):
        for name, value in found.items():
            row[NAMES.index(name)] = value
    zeros = np.zeros(count, dtype=np.int32)
    depths = Ragged(np.zeros(len(calls.alleles), dtype=np.int32), calls.allele_offsets)
    return Annotations(
        zeros,
        zeros[:, None],
        depths,
        table,
        np.zeros((count, 1, 4), int),
        np.zeros((count, 2), int),
    )


def names(bits: int) -> list[str]:
    return [name for k, name in enumerate(FILTERS) if bits >> k & 1]


def filters(alleles: list[str], quality: float = 100.0, **values: float) -> list[str]:
    calls = records([alleles], [quality])
    return names(int(filters_of(calls, annotated(calls, [values]))[0]))


SNP, INDEL = ["A", "C"], ["A", "AC"]


@pytest.mark.parametrize(
    ("values", "of_snp", "of_indel"),
    [
        ({"QD": 1.99}, ["QD2"], ["QD2"]),
        ({"QD": 2.0}, [], []),
        ({"QD": 1.9951}, [], []),  # written as 2.00
        ({"QD": 1.995}, [], []),
        ({"QD": 1.9949}, ["QD2"], ["QD2"]),
        ({"SOR": 3.0004}, [], []),
        ({"SOR": 3.0005}, ["SOR3"], []),
        ({"FS": 60.0}, [], []),
        ({"FS": 60.001}, ["FS60"], []),
        ({"FS": 200.001}, ["FS60"], ["FS200"]),
        ({"MQ": 39.994}, ["MQ40"], []),
        ({"MQ": 39.995}, [], []),
        ({"MQRankSum": -12.5}, [], []),
        ({"MQRankSum": -12.501}, ["MQRankSum-12.5"], []),
        ({"ReadPosRankSum": -8.001}, ["ReadPosRankSum-8"], []),
        ({"ReadPosRankSum": -20.0}, ["ReadPosRankSum-8"], []),
        ({"ReadPosRankSum": -20.001}, ["ReadPosRankSum-8"], ["ReadPosRankSum-20"]),
        ({"MQRankSum": 12.6, "ReadPosRankSum": 21.0}, [], []),
        ({"quality": 29.994}, ["QUAL30"], ["QUAL30"]),
        ({"quality": 29.995}, [], []),
        (
            {"QD": 1.0, "FS": 300.0, "MQ": 1.0, "SOR": 9.0, "ReadPosRankSum": -30.0},
            ["FS60", "MQ40", "QD2", "ReadPosRankSum-8", "SOR3"],
            ["FS200", "QD2", "ReadPosRankSum-20"],
        ),
        ({}, [], []),
    ],
)
def test_thresholds(values: dict[str, float], of_snp: list[str], of_indel: list[str]) -> None:
    """GATK's published thresholds; values are compared as they are written, missing ones pass."""
    assert filters(SNP, **values) == of_snp
    assert filters(INDEL, **values) == of_indel


@pytest.mark.parametrize(
    ("alleles", "is_indel"),
    [
        (["A", "C", "*"], False),
        (["A", "C", "AT"], True),  # SNP and insertion
        (["AT", "A"], True),
        (["AT", "GC"], False),  # several bases, of the same length
        (["AT", "*", "GT"], False),
        (["A", "C", "<NON_REF>"], False),
    ],
)
def test_records_with_an_indel(alleles: list[str], is_indel: bool) -> None:
    assert filters(alleles, SOR=9.0, FS=250.0) == (["FS200"] if is_indel else ["FS60", "SOR3"])


RULES = [
    ("QUAL30", "QUAL", 2, "<", "30", "any"),
    ("QD2", "QD", 2, "<", "2", "any"),
    ("SOR3", "SOR", 3, ">", "3", "snp"),
    ("FS60", "FS", 3, ">", "60", "snp"),
    ("FS200", "FS", 3, ">", "200", "indel"),
    ("MQ40", "MQ", 2, "<", "40", "snp"),
    ("MQRankSum-12.5", "MQRankSum", 3, "<", "-12.5", "snp"),
    ("ReadPosRankSum-8", "ReadPosRankSum", 3, "<", "-8", "snp"),
    ("ReadPosRankSum-20", "ReadPosRankSum", 3, "<", "-20", "indel"),
]


def oracle(quality: float, values: dict[str, float], kind: str) -> list[str]:
    found = []
    for name, field, decimals, side, bound, of in RULES:
        value = quality if field == "QUAL" else values.get(field)
        if value is None or of not in ("any", kind):
            continue
        written = Decimal(repr(value)).quantize(Decimal(10) ** -decimals, ROUND_HALF_UP)
        if (written < Decimal(bound)) if side == "<" else (written > Decimal(bound)):
            found.append(name)
    return sorted(found)


NEAR = st.sampled_from([-20.0, -12.5, -8.0, 2.0, 3.0, 30.0, 40.0, 60.0, 200.0])
VALUE = st.one_of(
    st.floats(-30, 300), st.tuples(NEAR, st.integers(-20, 20)).map(lambda t: t[0] + t[1] / 2000)
)


@given(
    VALUE.map(abs),
    st.dictionaries(st.sampled_from(sorted({rule[1] for rule in RULES} - {"QUAL"})), VALUE),
    st.sampled_from(["snp", "indel"]),
)
def test_random_values(quality: float, values: dict[str, float], kind: str) -> None:
    found = filters(SNP if kind == "snp" else INDEL, quality, **values)
    assert found == oracle(quality, values, kind)


def test_filters_of_lines() -> None:
    """Names are joined by semicolons; PASS if none applies; other filters are kept."""
    calls = records([SNP, SNP, INDEL], [100.0, 20.0, 20.0])
    found = annotated(calls, [{}, {"QD": 1.0}, {}])
    marks = RecordMarks.none(3)
    low = np.array([0, 0, 1 << FILTERS.index("LowQual")], dtype=np.uint32)
    found = replace(found, marks=replace(marks, filters=low))
    rows = np.ones(3, dtype=np.bool_)
    lines = call_lines("chr1", calls, found, rows, WRITTEN).decode().splitlines()
    assert [line.split("\t")[6] for line in lines] == ["PASS", "QD2;QUAL30", "LowQual;QUAL30"]
    lines = call_lines("chr1", calls, found, rows).decode().splitlines()
    assert [line.split("\t")[6] for line in lines] == [".", ".", "LowQual"]


def test_names_are_sorted() -> None:
    """HTSJDK sorts the filters of a record."""
    assert list(FILTERS) == sorted([rule[0] for rule in RULES] + ["LowQual"])


def test_no_records() -> None:
    made = made_calls(1, 2, sites=0)
    found = annotations_of(made.calls, made.sites, made.reads, made.likelihoods, made.segment, 2)
    assert filters_of(made.calls, found).size == 0
