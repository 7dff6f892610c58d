"""Calls as lines of VCF, against plain Python, pysam and bcftools."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.genotyping.batches import GenotypeCalls
from hapgpu.genotyping.calls.vcf_lines import call_lines
from hapgpu.haplotypes.batches import Haplotypes, Loci, LocusBatch, ShiftRanges
from hapgpu.io.vcf.header import genotyped_header
from hapgpu.io.vcf.records import VcfRecord
from tests.example_counts import many
from tests.haplotypes.made_records import made_sites

HEADER = (
    "##fileformat=VCFv4.2",
    '##FILTER=<ID=q10,Description="Low">',
    '##FILTER=<ID=s50,Description="Half">',
    '##ALT=<ID=DEL,Description="Deletion">',
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">',
    '##INFO=<ID=DB,Number=0,Type=Flag,Description="In a database">',
    '##INFO=<ID=ADP,Number=1,Type=Integer,Description="Another depth">',
    '##INFO=<ID=DPB,Number=1,Type=Float,Description="One more">',
    '##INFO=<ID=NOTE,Number=1,Type=String,Description="Any text">',
)
INT32_MAX = 2**31 - 1
EMPTY = np.zeros(0, dtype=np.int64)
NO_ROWS = Ragged(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))


def batch_of(records: list[VcfRecord]) -> LocusBatch:
    """Return a batch in which only the records matter."""
    return LocusBatch(
        "chr1",
        made_sites(records),
        ShiftRanges(EMPTY, EMPTY),
        Loci(np.zeros(1, dtype=np.int64), EMPTY, EMPTY),
        Haplotypes(EMPTY, EMPTY, np.zeros(1, dtype=np.int64), NO_ROWS, NO_ROWS),
    )


def record_of(
    position: int, alternatives: list[str], identifier: str, filters: str, info: str
) -> VcfRecord:
    alt = ",".join(alternatives) or "."
    columns = ("chr1", str(position), identifier, "A", alt, "12.5", filters, info)
    return VcfRecord("line 1", "chr1", position - 1, "A", tuple(alternatives), columns, "GT\t0|1")


def alternatives_of(count: int) -> list[str]:
    """Return distinct ALTs: `*`, a symbolic allele, then sequences."""
    texts = ["C", "*", "<DEL>", *("A" + "G" * length for length in range(1, count))]
    return texts[:count]


def ragged_of(rows: list[NDArray[np.int32]]) -> Ragged:
    data = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    return Ragged(data, offsets_of([row.size for row in rows]))


def counts_of(random: np.random.Generator, count: int) -> NDArray[np.int32]:
    """Draw numbers of every width up to the largest."""
    bounds = random.choice([1, 10, 100, 5000, INT32_MAX], count)
    largest = random.random(count) < 0.1
    return np.where(largest, bounds, random.integers(0, bounds)).astype(np.int32)


def calls_of(allele_counts: list[int], samples: int, ploidy: int, seed: int) -> GenotypeCalls:
    """Draw calls, a quarter of which are missing."""
    random = np.random.default_rng(seed)
    shape = (len(allele_counts), samples)
    known = random.random(shape) < 0.75
    alleles = np.array(allele_counts, dtype=np.int64).reshape(-1, 1, 1)
    genotypes = np.sort(random.integers(0, alleles, (*shape, ploidy)), axis=2)
    row_alleles = np.repeat(allele_counts, samples).astype(int)
    likelihoods = [
        counts_of(random, math.comb(count + ploidy - 1, ploidy) if is_known else 0)
        for count, is_known in zip(row_alleles, known.reshape(-1), strict=True)
    ]
    qualities = random.choice([0.0, -0.0, 0.004, 0.005, 7.1, 100, 12345.678, 1e7 / 3], shape[0])
    return GenotypeCalls(
        genotypes=np.where(known[..., None], genotypes, -1).astype(np.int16),
        qualities=np.where(known, random.integers(0, 100, shape), -1).astype(np.int16),
        depths=random.choice([0, 1, 10, 99, 70_000], shape).astype(np.int32),
        allele_depths=ragged_of([counts_of(random, count) for count in row_alleles]),
        phred_likelihoods=ragged_of(likelihoods),
        variant_qualities=np.where(known.any(axis=1), qualities, np.nan),
    )


INFO_ITEMS = st.lists(
    st.sampled_from(["AF=0.25", "DB", "ADP=3", "DPB=4.5", "NOTE=caf\u00e9|DP", "DP=77"]),
    unique=True,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[VcfRecord], GenotypeCalls]:
    ploidy, samples = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    alternatives = draw(st.lists(st.integers(0, 13 - 2 * ploidy), max_size=4))
    records = [
        record_of(
            10 * (site + 1),
            alternatives_of(count),
            draw(st.sampled_from([".", "rs1", "rs2;COSV3"])),
            draw(st.sampled_from([".", "PASS", "q10", "s50;q10"])),
            ";".join(draw(INFO_ITEMS)) or ".",
        )
        for site, count in enumerate(alternatives)
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    return records, calls_of([count + 1 for count in alternatives], samples, ploidy, seed)


def expected_quality(quality: float) -> str:
    if math.isnan(quality):
        return "."
    return format(Decimal(abs(quality)).quantize(Decimal("0.01")).normalize(), "f")


def expected_info(info: str, depth: int) -> str:
    items = [item for item in info.split(";") if item != "."]
    columns = [k for k, item in enumerate(items) if item.split("=")[0] == "DP"] or [len(items)]
    items[columns[0] : columns[0] + 1] = [f"DP={depth}"]
    return ";".join(items)


def number_text(number: int) -> str:
    return "." if number < 0 else str(number)


def expected_sample(calls: GenotypeCalls, site: int, sample: int) -> str:
    row = site * calls.depths.shape[1] + sample
    fields = [
        "/".join(map(number_text, calls.genotypes[site, sample])),
        number_text(calls.qualities[site, sample]),
        str(calls.depths[site, sample]),
        ",".join(map(str, calls.allele_depths[row])),
        ",".join(map(str, calls.phred_likelihoods[row])) or ".",
    ]
    return ":".join(fields)


def expected_line(record: VcfRecord, calls: GenotypeCalls, site: int) -> str:
    columns = list(record.columns)
    columns[5] = expected_quality(calls.variant_qualities[site])
    columns[7] = expected_info(columns[7], sum(map(int, calls.depths[site])))
    samples = range(calls.depths.shape[1])
    return "\t".join(
        [*columns, "GT:GQ:DP:AD:PL", *(expected_sample(calls, site, k) for k in samples)]
    )


@settings(max_examples=many(150))
@given(cases())
def test_lines_equal_plain_python(case: tuple[list[VcfRecord], GenotypeCalls]) -> None:
    records, calls = case
    text = call_lines(batch_of(records), calls).decode()
    assert text == "".join(f"{expected_line(r, calls, k)}\n" for k, r in enumerate(records))


def write_vcf(path: Path, records: list[VcfRecord], calls: GenotypeCalls) -> None:
    samples = [f"sample {k}" for k in range(calls.depths.shape[1])]
    header = genotyped_header(HEADER, {"chr1": 100_000}, samples, "hapgpu genotype", "1.0")
    path.write_bytes(header + call_lines(batch_of(records), calls))


@settings(max_examples=60)
@given(case=cases())
def test_pysam_reads_the_same_values(
    case: tuple[list[VcfRecord], GenotypeCalls], tmp_path_factory: pytest.TempPathFactory
) -> None:
    records, calls = case
    path = tmp_path_factory.getbasetemp() / "calls.vcf"
    write_vcf(path, records, calls)
    with pysam.VariantFile(str(path)) as file:
        found = list(file)
    assert len(found) == len(records)
    for site, (record, read) in enumerate(zip(records, found, strict=True)):
        assert (read.pos, read.ref) == (record.start + 1, "A")
        assert (read.alts or ()) == record.alternatives
        quality = calls.variant_qualities[site]
        assert math.isnan(quality) if read.qual is None else abs(read.qual - quality) <= 0.3
        assert read.info["DP"] == calls.depths[site].sum()
        for sample, values in enumerate(read.samples.values()):
            row = site * calls.depths.shape[1] + sample
            genotype = [-1 if allele is None else allele for allele in values["GT"]]
            assert genotype == calls.genotypes[site, sample].tolist()
            assert not values.phased or len(genotype) == 1
            assert number_of(values["GQ"]) == calls.qualities[site, sample]
            assert values["DP"] == calls.depths[site, sample]
            assert list(values["AD"]) == calls.allele_depths[row].tolist()
            assert known_of(values["PL"]) == calls.phred_likelihoods[row].tolist()


def number_of(value: int | None) -> int:
    return -1 if value is None else value


def known_of(values: tuple[int | None, ...] | None) -> list[int]:
    return [value for value in values or () if value is not None]


def test_missing_calls() -> None:
    records = [record_of(5, ["C"], "rs5", "q10", "."), record_of(9, ["C", "G"], ".", ".", "DB")]
    missing = np.full((2, 1, 2), -1, dtype=np.int16)
    calls = GenotypeCalls(
        genotypes=missing,
        qualities=missing[:, :, 0],
        depths=np.zeros((2, 1), dtype=np.int32),
        allele_depths=ragged_of([np.zeros(2, dtype=np.int32), np.zeros(3, dtype=np.int32)]),
        phred_likelihoods=ragged_of([np.zeros(0, dtype=np.int32)] * 2),
        variant_qualities=np.full(2, np.nan),
    )
    assert call_lines(batch_of(records), calls).decode().splitlines() == [
        "chr1\t5\trs5\tA\tC\t.\tq10\tDP=0\tGT:GQ:DP:AD:PL\t./.:.:0:0,0:.",
        "chr1\t9\t.\tA\tC,G\t.\t.\tDB;DP=0\tGT:GQ:DP:AD:PL\t./.:.:0:0,0,0:.",
    ]
    haploid = call_lines(batch_of(records), replace(calls, genotypes=missing[:, :, :1]))
    assert haploid.split()[9] == b".:.:0:0,0:."


def test_hundreds_of_alleles_and_samples() -> None:
    records = [record_of(5, alternatives_of(300), ".", "PASS", "DP=1")]
    calls = calls_of([301], 40, 2, 1)
    text = call_lines(batch_of(records), calls).decode()
    assert text == expected_line(records[0], calls, 0) + "\n"
    assert calls.genotypes.max() > 255


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (".", "DP=3"),
        ("DP=9", "DP=3"),
        ("DP=.", "DP=3"),
        ("DP", "DP=3"),
        ("A=1;DP=9;B=2", "A=1;DP=3;B=2"),
        ("A=DP;DPX=9;XDP=9", "A=DP;DPX=9;XDP=9;DP=3"),
        ("DPX=1;DP=8", "DPX=1;DP=3"),
        ("A=%3B\\1,  ", "A=%3B\\1,  ;DP=3"),
    ],
)
def test_depth_in_info(info: str, expected: str) -> None:
    depths = np.array([[2, 1]], dtype=np.int32)
    calls = replace(calls_of([2], 2, 2, 0), depths=depths)
    line = call_lines(batch_of([record_of(1, ["C"], ".", ".", info)]), calls).decode()
    assert line.split("\t")[7] == expected


def test_invalid_utf8_is_unchanged() -> None:
    odd = b"NOTE=\xff\xe9".decode("utf-8", "surrogateescape")
    line = call_lines(batch_of([record_of(1, ["C"], ".", ".", odd)]), calls_of([2], 1, 2, 0))
    assert line.split(b"\t")[7].startswith(b"NOTE=\xff\xe9;DP=")


@pytest.mark.skipif(not shutil.which("bcftools"), reason="bcftools is not installed")
@pytest.mark.parametrize("ploidy", [1, 2])
def test_bcftools_accepts_the_lines(ploidy: int, tmp_path: Path) -> None:
    infos = [".", "ADP=5;DP=1", "DB"]
    records = [
        record_of(10 + k, alternatives_of(k % 4), ".", "PASS", infos[k % 3]) for k in range(12)
    ]
    path = tmp_path / "calls.vcf"
    write_vcf(path, records, calls_of([1 + k % 4 for k in range(12)], 2, ploidy, 3))
    for command in (["view"], ["norm", "-m-any"], ["stats"]):
        run = subprocess.run(
            ["bcftools", *command, str(path)], capture_output=True, text=True, check=True
        )
        complaints = [line for line in run.stderr.splitlines() if not line.startswith("Lines")]
        assert complaints == []


@example([0.0007, 2.0**-10, 2.0**-11, 0.005, 0.015, 0.025])
@settings(max_examples=many(300))
@given(
    st.lists(
        st.one_of(
            st.floats(0.0, 2.0**45),
            st.floats(0.0, 1e5),
            st.floats(0.0, 0.02),
            st.integers(0, 10**9).map(lambda k: k / 8.0),
            st.integers(0, 10**9).map(lambda k: k / 200.0),
        ),
        min_size=1,
    )
)
def test_qualities_are_rounded_exactly(qualities: list[float]) -> None:
    calls = replace(calls_of([1] * len(qualities), 1, 2, 0), variant_qualities=np.array(qualities))
    records = [record_of(10 * k + 10, [], ".", ".", ".") for k in range(len(qualities))]
    lines = call_lines(batch_of(records), calls).decode().splitlines()
    assert [line.split("\t")[5] for line in lines] == [expected_quality(q) for q in qualities]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (".", "DP=9"),
        ("DP", "DP=9"),
        ("DP=", "DP=9"),
        ("DP=1;X;DP;DPX;XDP=2;DP=a=b", "DP=9;X;DP=9;DPX;XDP=2;DP=9"),
        ("X=DP=3", "X=DP=3;DP=9"),
        (";", ";;DP=9"),
        ("X;;DP=1;", "X;;DP=9;"),
        (";".join(["DP"] * 500), ";".join(["DP=9"] * 500)),
    ],
)
def test_depths_in_info(info: str, expected: str) -> None:
    calls = replace(calls_of([1], 1, 2, 0), depths=np.array([[9]], dtype=np.int32))
    (line,) = call_lines(batch_of([record_of(10, [], ".", ".", info)]), calls).decode().splitlines()
    assert line.split("\t")[7] == expected
