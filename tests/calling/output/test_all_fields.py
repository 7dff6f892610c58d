"""Lines with every field that options enable, against plain Python."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import (
    ALLELE_RANK_SUMS,
    FIELDS,
    EnabledFields,
    enabled_fields,
)
from hapgpu.calling.annotations.selection import SUPPORTED
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.options import AnnotationOptions
from hapgpu.calling.output import allele_texts, call_lines, gvcf_lines
from hapgpu.calling.output.phasing import UNPHASED, Phasing
from hapgpu.calling.record_columns import (
    NO_REFERENCE,
    NO_SCORE,
    AlleleAnnotations,
    RecordMarks,
    TandemRepeats,
)
from hapgpu.io.text.builder import TextBuilder
from tests.calling.made_calls import made_calls
from tests.calling.output.test_lines import java_fixed, known
from tests.io.vcf.test_numbers import oracle as double_text

ALL = AnnotationOptions(classes=SUPPORTED, counts_discovered=True)


def annotated(seed: int, samples: int, fields: EnabledFields) -> tuple[VariantCalls, Annotations]:
    made = made_calls(seed, samples, sites=8)
    columns = made.calls, made.sites, made.reads, made.likelihoods, made.segment
    return made.calls, annotations_of(*columns, samples, fields=fields)


def rank_text(bins: list[int]) -> str:
    texts = {NO_SCORE: "NaN", NO_REFERENCE: ""}
    return "|" + "|".join(texts.get(b, f"{b / 10:.1f},1") for b in bins[1:])


def allele_items(alleles: AlleleAnnotations, first: int, end: int) -> dict[str, str]:
    rows = range(first, end)
    items = {
        name: rank_text(alleles.rank_sums[k, first:end].tolist())
        for k, name in enumerate(ALLELE_RANK_SUMS)
    }
    items["AS_RAW_MQ"] = "|".join(f"{alleles.squares[row]}.00" for row in rows)
    items["AS_SB_TABLE"] = "|".join(",".join(map(str, alleles.strands[row])) for row in rows)
    return items


def expected_info(calls: VariantCalls, found: Annotations, record: int, names: set[str]) -> str:
    first, end = (int(k) for k in calls.allele_offsets[record : record + 2])
    copies = calls.genotypes[record].ravel()
    total = int((copies >= 0).sum())
    counts = [int((copies == k).sum()) for k in range(1, end - first)]
    likely = calls.maximum_likelihood_counts[first + 1 : end].tolist()
    items = {"DP": str(found.depths[record]), "MLEAC": ",".join(map(str, likely))}
    if total:
        items["AN"] = str(total)
        items["AC"] = ",".join(map(str, counts))
        items["AF"] = ",".join(double_text(count / total) for count in counts)
        items["MLEAF"] = ",".join(double_text(min(1.0, count / total)) for count in likely)
    for field, value in zip(FIELDS, found.values[record], strict=True):
        if not math.isnan(value):
            items[field.name] = java_fixed(value, field.decimals)
    if found.zero_qualities is not None:
        items["MQ0"] = str(found.zero_qualities[record])
    if found.discovered_alleles is not None:
        items["NDA"] = str(found.discovered_alleles[record])
    items["RAW_MQandDP"] = ",".join(map(str, found.mapping_qualities[record]))
    if found.alleles is not None:
        items.update(allele_items(found.alleles, first, end))
    if found.repeats is not None and found.repeats.units[record].size:
        items["RU"] = found.repeats.units[record].tobytes().decode()
        items["RPA"] = ",".join(map(str, found.repeats.counts[first:end]))
        items["STR"] = ""
    written = sorted(items.keys() & names)
    return ";".join(name if name == "STR" else f"{name}={items[name]}" for name in written)


def expected_sample(calls: VariantCalls, found: Annotations, record: int, sample: int) -> str:
    row = record * calls.genotypes.shape[1] + sample
    depths = found.allele_depths[row].tolist()
    total = sum(depths)
    fractions = [double_text(d / total) if total else "NaN" for d in depths[1:]]
    is_called = calls.genotypes[record, sample, 0] >= 0
    fields = [
        "/".join(map(known, calls.genotypes[record, sample])),
        ",".join(map(str, depths)) if is_called else ".",
        ",".join(fractions) if is_called else ".",
        str(found.sample_depths[record, sample]) if is_called else ".",
        str(calls.genotype_qualities[record, sample]),
        ",".join(map(str, calls.phred_likelihoods[row])),
        ",".join(map(str, found.strand_depths[record, sample])) if is_called else ".",
    ]
    return ":".join(fields)


def check_line(
    line: str, calls: VariantCalls, found: Annotations, record: int, names: set[str]
) -> int:
    columns = line.split("\t")
    assert columns[7] == expected_info(calls, found, record, names)
    assert columns[8] == "GT:AD:AF:DP:GQ:PL:SB"
    samples = calls.genotypes.shape[1]
    assert columns[9:] == [expected_sample(calls, found, record, k) for k in range(samples)]
    return columns[7].count("STR")


def made_repeats(calls: VariantCalls, seed: int) -> TandemRepeats:
    random = np.random.default_rng(seed)
    units = ["", "A", "CAG"] * len(calls)
    counts = random.integers(0, 600, len(calls.alleles))
    return TandemRepeats(Ragged.from_sequences(units[: len(calls)]), counts)


@pytest.mark.parametrize("samples", [1, 3, 11])
@pytest.mark.parametrize("is_tight", [False, True])
def test_every_field_of_a_vcf(
    samples: int, is_tight: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_tight:
        monkeypatch.setattr(allele_texts, "_TEXTS", TextBuilder(0))
        monkeypatch.setattr(call_lines, "_LINES", TextBuilder(1))
    fields = enabled_fields(ALL)
    repeats, inbred = 0, 0
    for seed in range(20):
        calls, found = annotated(seed, samples, fields)
        found = replace(found, repeats=made_repeats(calls, seed))
        rows = np.ones(len(calls), dtype=np.bool_)
        text = call_lines.call_lines("chr1", calls, found, rows, fields).decode()
        for record, line in enumerate(text.splitlines()):
            repeats += check_line(line, calls, found, record, set(fields.info))
        inbred += text.count("InbreedingCoeff")
    assert (inbred > 0) == (samples == 11)
    assert repeats > 20


@pytest.mark.parametrize("is_tight", [False, True])
def test_every_field_of_a_genomic_vcf(is_tight: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_tight:
        monkeypatch.setattr(allele_texts, "_TEXTS", TextBuilder(0))
        monkeypatch.setattr(gvcf_lines, "_RECORDS", TextBuilder(1))
    fields = enabled_fields(ALL, is_genomic=True)
    for seed in range(20):
        calls, found = annotated(seed, 1, fields)
        phasing = Phasing(np.full(len(calls), UNPHASED), np.zeros(len(calls), np.bool_))
        rows = np.arange(len(calls))
        lines = gvcf_lines.record_lines("chr1", calls, found, phasing, rows, fields)
        for record in rows.tolist():
            line = lines[record].tobytes().decode().rstrip("\n")
            check_line(line, calls, found, record, set(fields.info))


def test_one_annotation_at_a_time() -> None:
    calls, found = annotated(2, 2, enabled_fields(ALL))
    rows = np.ones(len(calls), dtype=np.bool_)
    for name in SUPPORTED:
        fields = enabled_fields(AnnotationOptions(classes=frozenset({name})))
        text = call_lines.call_lines("chr1", calls, found, rows, fields).decode()
        formats = ":".join(["GT", *sorted({"GQ", "PL", *fields.formats})])
        for record, line in enumerate(text.splitlines()):
            columns = line.split("\t")
            assert columns[7] == expected_info(calls, found, record, set(fields.info))
            assert columns[8] == formats
            assert columns[9].count(":") == formats.count(":")


def test_ids_and_flags() -> None:
    fields = replace(enabled_fields(ALL), flags=("DB", "Zoo"))
    calls, found = annotated(4, 1, fields)
    count = len(calls)
    ids = ["", "rs1", "rs2;rs345"] * count
    marks = RecordMarks(
        Ragged.from_sequences(ids[:count]),
        np.arange(2 * count, dtype=np.uint8).reshape(count, 2) % 3 // 2,
        np.zeros(count, dtype=np.uint32),
    )
    rows = np.ones(count, dtype=np.bool_)
    text = call_lines.call_lines("chr1", calls, replace(found, marks=marks), rows, fields).decode()
    plain = call_lines.call_lines("chr1", calls, found, rows, fields).decode()
    assert count > 3
    for k, (line, other) in enumerate(zip(text.splitlines(), plain.splitlines(), strict=True)):
        columns, without = line.split("\t"), other.split("\t")
        assert columns[2] == (ids[k] or ".")
        assert without[2] == "."
        flags = [flag for flag, on in zip(("DB", "Zoo"), marks.flags[k], strict=True) if on]
        items = sorted([*without[7].split(";"), *flags], key=lambda item: item.partition("=")[0])
        assert columns[7].split(";") == items


CASES = [
    ([NO_REFERENCE, 21, NO_SCORE], "|2.1,1|NaN"),
    ([NO_REFERENCE, -3, NO_SCORE], "|-0.3,1|NaN"),
    ([NO_REFERENCE] * 3, "||"),
    ([NO_REFERENCE] * 5, "||||"),
    ([NO_REFERENCE, 13, -7, NO_SCORE], "|1.3,1|-0.7,1|NaN"),
    ([NO_REFERENCE, 0, 105], "|0.0,1|10.5,1"),
]


@pytest.mark.parametrize(("bins", "expected"), CASES)
def test_literal_scores(bins: list[int], expected: str) -> None:
    """Texts of records of GATK's expected.testGVCFMode.gatk4.alleleSpecific.g.vcf."""
    calls, found = annotated(0, 1, enabled_fields(ALL, is_genomic=True))
    count = len(bins)
    alleles = AlleleAnnotations(
        np.tile(np.array(bins), (3, 1)),
        np.array([127369, 100800, 0, 7, 8][:count]),
        np.array([[16, 20], [19, 9], [0, 0], [1, 2], [3, 4]][:count]),
    )
    one = replace(
        calls, starts=calls.starts[:1], allele_offsets=np.array([0, count], dtype=np.int64)
    )
    found = replace(found, alleles=alleles)
    (text,) = allele_texts.field_text("AS_RAW_MQRankSum", one, found)
    assert text.tobytes().decode() == expected == rank_text(bins)
    (text,) = allele_texts.field_text("AS_RAW_MQ", one, found)
    assert text.tobytes().decode().startswith("127369.00|100800.00")
    (text,) = allele_texts.field_text("AS_SB_TABLE", one, found)
    assert text.tobytes().decode().startswith("16,20|19,9")


def test_a_field_must_be_computed() -> None:
    calls, found = annotated(0, 1, enabled_fields(AnnotationOptions()))
    for name in ("AS_RAW_MQ", "RU"):
        with pytest.raises(ValueError, match=f"{name} was not computed"):
            allele_texts.field_text(name, calls, found)
