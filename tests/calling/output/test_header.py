"""Headers of calls."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from hapgpu.calling.genotypes.annotation_fields import FIELDS, INFO_FIELDS
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
    assert found == {field.name: (field.number, field.type) for field in INFO_FIELDS}
    lines = path.read_text().splitlines()
    assert lines[0] == "##fileformat=VCFv4.3"
    assert "##hapgpu_callVersion=1.2" in lines
    assert "##hapgpu_callCommand=hapgpu call a.bam" in lines


def test_fields_are_in_the_order_of_gatk() -> None:
    names = [field.name for field in INFO_FIELDS]
    assert names == sorted(names)
    assert [field.name for field in FIELDS] == [
        "BaseQRankSum",
        "ExcessHet",
        "FS",
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
