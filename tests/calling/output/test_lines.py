"""Lines of calls, against plain Python, pysam and bcftools."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import (
    DEFAULT_FIELDS,
    DEFAULT_GENOMIC_FIELDS,
    FIELDS,
    INFO_FIELDS,
)
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output.call_lines import call_lines, calls_header
from hapgpu.calling.output.filters import low_qualities
from hapgpu.calling.record_columns import RecordMarks
from tests.calling.made_calls import made_calls

CONTIGS = {"chr1": 100_000, "HLA-A*01:01:01:01": 3503}
NAMES = ["b", "a", "sample 3"]


def java_fixed(value: float, decimals: int) -> str:
    """Round halves of the shortest decimal away from zero."""
    return str(Decimal(repr(float(value))).quantize(Decimal(10) ** -decimals, ROUND_HALF_UP))


def fraction_text(value: float) -> str:
    if value in (0, 1):
        return f"{value:.2f}"
    return java_fixed(value, 3) if value >= 0.01 else f"{value:.3e}"


def known(number: int) -> str:
    return "." if number < 0 else str(number)


def expected_info(calls: VariantCalls, annotations: Annotations, record: int) -> str:
    first, end = calls.allele_offsets[record : record + 2]
    copies = calls.genotypes[record].ravel()
    total = int((copies >= 0).sum())
    counts = [int((copies == k).sum()) for k in range(1, end - first)]
    likely = calls.maximum_likelihood_counts[first + 1 : end].tolist()
    items = {"DP": str(annotations.depths[record]), "MLEAC": ",".join(map(str, likely))}
    if total:
        items["AN"] = str(total)
        items["AC"] = ",".join(map(str, counts))
        items["AF"] = ",".join(fraction_text(count / total) for count in counts)
        items["MLEAF"] = ",".join(fraction_text(min(1, count / total)) for count in likely)
    for field, value in zip(FIELDS, annotations.values[record], strict=True):
        if not math.isnan(value) and DEFAULT_FIELDS.has(field.name):
            items[field.name] = java_fixed(value, field.decimals)
    return ";".join(f"{f.name}={items[f.name]}" for f in INFO_FIELDS if f.name in items)


def expected_line(
    calls: VariantCalls, annotations: Annotations, record: int, contig: str = "chr1"
) -> str:
    first, end = calls.allele_offsets[record : record + 2]
    alleles = [calls.alleles[k].tobytes().decode() for k in range(first, end)]
    quality = java_fixed(calls.qualities[record], 2).removesuffix(".00")
    columns = [contig, str(calls.starts[record] + 1), ".", alleles[0], ",".join(alleles[1:])]
    columns += [quality, ".", expected_info(calls, annotations, record), "GT:AD:DP:GQ:PL"]
    samples = calls.genotypes.shape[1]
    for sample in range(samples):
        row = record * samples + sample
        is_called = calls.genotypes[record, sample, 0] >= 0
        fields = [
            "/".join(map(known, calls.genotypes[record, sample])),
            ",".join(map(str, annotations.allele_depths[row])) if is_called else ".",
            str(annotations.sample_depths[record, sample]) if is_called else ".",
            str(calls.genotype_qualities[record, sample]),
            ",".join(map(str, calls.phred_likelihoods[row])),
        ]
        columns.append(":".join(fields))
    return "\t".join(columns) + "\n"


def annotated(seed: int, samples: int) -> tuple[VariantCalls, Annotations]:
    made = made_calls(seed, samples, sites=8)
    return made.calls, annotations_of(
        made.calls, made.sites, made.reads, made.likelihoods, made.segment, samples
    )


@pytest.mark.parametrize("samples", [1, 3])
def test_lines_equal_plain_python(samples: int) -> None:
    random = np.random.default_rng(samples)
    for seed in range(100):
        calls, annotations = annotated(seed, samples)
        rows = random.random(len(calls)) < 0.7
        text = call_lines("chr1", calls, annotations, rows).decode()
        kept = np.flatnonzero(rows)
        assert text == "".join(expected_line(calls, annotations, record) for record in kept)


def test_no_lines() -> None:
    calls, annotations = annotated(1, 2)
    assert call_lines("chr1", calls, annotations, np.zeros(len(calls), np.bool_)) == b""


def saved(path: Path) -> tuple[VariantCalls, Annotations]:
    """Write records of three samples; REF are bases of a genome of A."""
    calls, annotations = annotated(11, 3)
    rows = np.ones(len(calls), np.bool_)
    header = calls_header(CONTIGS, NAMES, "hapgpu call a.bam", "1.0")
    path.write_bytes(header + call_lines("chr1", calls, annotations, rows))
    return calls, annotations


def test_pysam_reads_the_same_values(tmp_path: Path) -> None:
    calls, annotations = saved(tmp_path / "calls.vcf")
    with pysam.VariantFile(str(tmp_path / "calls.vcf")) as file:
        assert list(file.header.samples) == NAMES
        found = list(file)
    assert len(found) == len(calls) > 3
    for record, read in enumerate(found):
        assert read.pos == calls.starts[record] + 1
        assert read.qual == pytest.approx(calls.qualities[record], abs=0.006)
        assert read.info["DP"] == annotations.depths[record]
        for field, value in zip(FIELDS, annotations.values[record], strict=True):
            if field.name == "InbreedingCoeff" or not DEFAULT_FIELDS.has(field.name):
                continue
            expected = pytest.approx(value, abs=0.006) if not math.isnan(value) else None
            assert read.info.get(field.name) == expected
        for sample, values in enumerate(read.samples.values()):
            row = record * 3 + sample
            genotype = [-1 if allele is None else allele for allele in values["GT"]]
            assert genotype == calls.genotypes[record, sample].tolist()
            is_called = genotype[0] >= 0
            depths = annotations.allele_depths[row].tolist() if is_called else [None]
            assert list(values["AD"]) == depths
            assert values["DP"] == (sum(depths) if is_called else None)
            assert list(values["PL"]) == calls.phred_likelihoods[row].tolist()


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
@pytest.mark.parametrize(
    "arguments",
    [
        ["view"],
        ["stats"],
        ["query", "-f", "%INFO/MLEAF [%PL]\n"],
        ["norm", "--check-ref", "e", "-f", "ref.fa"],
    ],
)
def test_bcftools_accepts_the_file(arguments: list[str], tmp_path: Path) -> None:
    saved(tmp_path / "calls.vcf")
    (tmp_path / "ref.fa").write_text(f">chr1\n{'A' * 100_000}\n")
    pysam.faidx(str(tmp_path / "ref.fa"))
    run = subprocess.run(
        ["bcftools", *arguments, "calls.vcf"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "[W::" not in run.stderr
    assert "[E::" not in run.stderr


@pytest.mark.parametrize(
    ("quality", "expected", "filter_"),
    [
        (0.0, "0", "LowQual"),
        (-0.0, "0", "LowQual"),
        (29.99, "29.99", "LowQual"),
        (30.0, "30", "."),
        (math.inf, "Infinity", "."),
    ],
)
def test_records_of_given_alleles(quality: float, expected: str, filter_: str) -> None:
    """GATK's texts; QD has the sign of QUAL."""
    calls, annotations = annotated(1, 2)
    values = annotations.values.copy()
    values[:, [field.name for field in FIELDS].index("QD")] = quality / 9
    calls = replace(calls, qualities=np.full(len(calls), quality))
    rows = np.ones(len(calls), np.bool_)
    marks = replace(RecordMarks.none(len(calls)), filters=low_qualities(calls, 30.0))
    text = call_lines(
        "chr1", calls, replace(annotations, values=values, marks=marks), rows
    ).decode()
    for line in text.splitlines():
        columns = line.split("\t")
        assert columns[5:7] == [expected, filter_]
        qd = [field for field in columns[7].split(";") if field.startswith("QD=")]
        sign = "-" if math.copysign(1.0, quality) < 0.0 else ""
        assert qd == ([] if math.isinf(quality) else [f"QD={sign}{abs(quality) / 9:.2f}"])


def test_the_header_declares_lowqual_for_given_alleles() -> None:
    words = (CONTIGS, NAMES, "hapgpu call a.bam", "1.0")
    assert b"##FILTER" not in calls_header(*words)
    for fields in (DEFAULT_FIELDS, DEFAULT_GENOMIC_FIELDS):
        header = calls_header(*words, fields=replace(fields, has_low_quality=True))
        assert header.count(b"##FILTER=<ID=LowQual,Description=") == 1
