"""Headers of calls."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from hapgpu.calling.annotations.fields import (
    DEFAULT_FIELDS,
    FIELDS,
    INFO_FIELDS,
    enabled_fields,
)
from hapgpu.calling.annotations.selection import SUPPORTED
from hapgpu.calling.options import AnnotationOptions
from hapgpu.calling.output.call_lines import calls_header
from hapgpu.errors import OutputError

CONTIGS = {"chr1": 1000, "chr2": 2**29 + 5, "HLA-A*01:01:01:01": 3503, "a,b": 7}


def test_pysam_reads_contigs_samples_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf"
    path.write_bytes(calls_header(CONTIGS, ["b", "a"], "hapgpu  call\ta.bam", "1.2"))
    with pysam.VariantFile(str(path)) as file:
        header = file.header
    assert list(header.samples) == ["b", "a"]
    assert {name: line.length for name, line in header.contigs.items()} == {
        name: length for name, length in CONTIGS.items() if name != "a,b"
    }
    assert set(header.formats) == {"GT", "AD", "DP", "GQ", "PL"}
    found = {name: (str(field.number), field.type) for name, field in header.info.items()}
    expected = set(DEFAULT_FIELDS.info) - {"InbreedingCoeff"}
    assert found == {f.name: (f.number, f.type) for f in INFO_FIELDS if f.name in expected}
    lines = path.read_text().splitlines()
    assert lines[0] == "##fileformat=VCFv4.3"
    assert "##hapgpu_callVersion=1.2" in lines
    assert "##hapgpu_callCommand=hapgpu call a.bam" in lines


def test_fields_are_in_the_order_of_gatk() -> None:
    names = [field.name for field in INFO_FIELDS]
    assert names == sorted(names)
    assert [field.name for field in FIELDS] == [
        "BaseQRankSum",
        "ClippingRankSum",
        "ExcessHet",
        "FS",
        "InbreedingCoeff",
        "LikelihoodRankSum",
        "MQ",
        "MQRankSum",
        "QD",
        "ReadPosRankSum",
        "SOR",
    ]


@pytest.mark.parametrize("samples", [["a", "a"], ["a\tb"], [""]])
def test_names_of_samples_are_checked(samples: list[str]) -> None:
    with pytest.raises(OutputError, match=r"sample name '.*': .*; change SM"):
        calls_header(CONTIGS, samples, "hapgpu call", "1.2")


def test_inbreeding_needs_ten_samples() -> None:
    for count in (9, 10):
        header = calls_header(CONTIGS, [f"s{k}" for k in range(count)], "hapgpu call", "1.2")
        assert (b"ID=InbreedingCoeff," in header) == (count == 10)


def names_in(header: bytes, kind: str) -> list[str]:
    lines = [line for line in header.decode().splitlines() if line.startswith(f"##{kind}=<ID=")]
    return [line.partition("ID=")[2].partition(",")[0] for line in lines]


def test_all_fields_of_a_genomic_vcf() -> None:
    fields = enabled_fields(AnnotationOptions(classes=SUPPORTED), is_genomic=True)
    header = calls_header(CONTIGS, ["a"], "hapgpu call", "1.2", fields=fields)
    assert names_in(header, "FORMAT") == [
        "AD",
        "AF",
        "DP",
        "GQ",
        "GT",
        "MIN_DP",
        "PGT",
        "PID",
        "PL",
        "PS",
        "SB",
    ]
    raw = ["AS_RAW_BaseQRankSum", "AS_RAW_MQ", "AS_RAW_MQRankSum", "AS_RAW_ReadPosRankSum"]
    assert names_in(header, "INFO") == [
        *["AS_InbreedingCoeff", "AS_QD", *raw, "AS_SB_TABLE", "BaseQRankSum", "ClippingRankSum"],
        *["DP", "END", "ExcessHet", "LikelihoodRankSum", "MLEAC", "MLEAF", "MQ0", "MQRankSum"],
        *["RAW_MQandDP", "RPA", "RU", "ReadPosRankSum", "STR"],
    ]
    assert b"##FILTER" not in header


def test_lines_of_filters(tmp_path: Path) -> None:
    fields = enabled_fields(AnnotationOptions(has_filters=True))
    path = tmp_path / "calls.vcf"
    path.write_bytes(calls_header(CONTIGS, ["a"], "hapgpu call", "1.2", fields=fields))
    with pysam.VariantFile(str(path)) as file:
        found = {name: one.description for name, one in file.header.filters.items()}
    snps, indels = "of records without an indel", "of records with an indel"
    assert found == {
        "PASS": "All filters passed",
        "FS200": f"FS > 200, {indels}",
        "FS60": f"FS > 60, {snps}",
        "MQ40": f"MQ < 40, {snps}",
        "MQRankSum-12.5": f"MQRankSum < -12.5, {snps}",
        "QD2": "QD < 2",
        "QUAL30": "QUAL < 30",
        "ReadPosRankSum-20": f"ReadPosRankSum < -20, {indels}",
        "ReadPosRankSum-8": f"ReadPosRankSum < -8, {snps}",
        "SOR3": f"SOR > 3, {snps}",
    }
