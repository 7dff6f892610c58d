"""VCF and BCF files for tests, and their records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pysam
import pysam.bcftools
import pytest

from hapgpu.errors import InputError
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import open_vcf

COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
HEADER = (
    "##fileformat=VCFv4.2",
    '##FILTER=<ID=PASS,Description="All filters passed">',
    "##contig=<ID=chr1,length=2147483647>",
    "##contig=<ID=chr2,length=1000>",
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
    '##FORMAT=<ID=PS,Number=1,Type=Integer,Description="Phase set">',
)
RECORD = "chr1\t5\trs1\tA\tC\t50\tPASS\tDP=3"


def vcf_text(*records: str, samples: tuple[str, ...] = ()) -> str:
    columns = "\t".join([COLUMNS, *(["FORMAT", *samples] if samples else [])])
    return "".join(f"{line}\n" for line in (*HEADER, columns, *records))


def records_of(path: str | Path) -> list[VcfRecord]:
    with open_vcf(path) as source:
        return list(source.records())


def write_bcf(source: Path, target: Path) -> None:
    pysam.bcftools.view("--no-version", "-Ob", "-o", str(target), str(source), catch_stdout=False)


def fault_of(path: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        records_of(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def many_records(count: int) -> list[str]:
    return [f"chr1\t{5 + k}\trs{k * k}\tA\tC\t50\tPASS\tDP={k}" for k in range(count)]


def compressed_forms(tmp_path: Path, written: Callable[[str], Path]) -> dict[str, Path]:
    plain = written(vcf_text(*many_records(9000)))
    bgzf, bcf = tmp_path / "whole.vcf.gz", tmp_path / "whole.bcf"
    pysam.tabix_compress(str(plain), str(bgzf))
    write_bcf(plain, bcf)
    return {"bgzf": bgzf, "bcf": bcf}
