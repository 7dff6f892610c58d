"""Headers of genotyped VCFs, as pysam and bcftools read them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import OutputError
from hapgpu.io.vcf.header import genotyped_header

CONTIGS = {"chr1": 1000, "chr2": 2**29 + 5, "HLA-A*01:01:01:01": 3503}
OURS = {"GT", "GQ", "DP", "AD", "PL"}
VERSION = "##fileformat=VCFv4.2"
OTHERS = [
    '##FILTER=<ID=q10,Description="Quality, below 10">',
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Allele frequency">',
    '##INFO=<ID=DPB,Number=1,Type=Float,Description="Not <ID=DP,>">',
    '##FORMAT=<ID=GL,Number=G,Type=Float,Description="Likelihoods">',
    '##FORMAT=<ID=DPR,Number=R,Type=Integer,Description="Depths">',
    '##ALT=<ID=DP,Description="No field">',
    "##reference=file:///some where/ref.fa",
    "##source=caller=2,ID=DP",
    "##contig=<ID=chr9,length=77>",
    "##contig=<assembly=b37,ID=chr2>",
    "##contig=<ID=chr1,length=1234>",
]
REPLACED = [
    '##INFO=<ID=DP,Number=.,Type=String,Description="Another DP">',
    '##FORMAT=<ID=DP,Number=1,Type=Float,Description="Another DP">',
    '##FORMAT=<Number=3,ID=PL,Type=Integer,Description="Another PL">',
    '##FORMAT=<Description="A \\"quoted, ID=GL\\" >, ID=XY",Number=1,ID=GT,Type=String>',
]
LINES = st.lists(st.sampled_from(OTHERS + REPLACED), unique=True)


def lines_of(lines: list[str], samples: list[str] | None = None) -> list[str]:
    """Extend a header; return its lines."""
    text = genotyped_header(lines, CONTIGS, samples or ["one"], "hapgpu genotype a b", "1.2")
    assert text.endswith(b"\n")
    return text.decode("utf-8", "surrogateescape").split("\n")[:-1]


def read(lines: list[str], directory: Path) -> pysam.VariantHeader:
    path = directory / "header.vcf"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pysam.VariantFile(str(path)) as file:
        return file.header


@settings(max_examples=100)
@given(LINES)
def test_other_lines_stay_in_order(lines: list[str]) -> None:
    extended = lines_of([VERSION, *lines])
    kept = [line for line in extended if line in OTHERS]
    assert kept == [line for line in lines if line in OTHERS]
    assert not set(extended) & set(REPLACED)
    assert extended[0] == "##fileformat=VCFv4.3"
    assert len(extended) == len(set(extended))


@settings(max_examples=100)
@given(lines=LINES)
def test_pysam_reads_the_fields_of_calls(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    header = read(lines_of([VERSION, *lines], ["b", "a"]), tmp_path_factory.getbasetemp())
    assert list(header.samples) == ["b", "a"]
    formats = {name: (header.formats[name].number, header.formats[name].type) for name in OURS}
    assert formats == {
        "GT": (1, "String"),
        "GQ": (1, "Integer"),
        "DP": (1, "Integer"),
        "AD": ("R", "Integer"),
        "PL": ("G", "Integer"),
    }
    assert (header.info["DP"].number, header.info["DP"].type) == (1, "Integer")
    assert set(CONTIGS) <= set(header.contigs)
    assert header.contigs["HLA-A*01:01:01:01"].length == 3503
    assert header.contigs["chr1"].length == (1234 if OTHERS[-1] in lines else 1000)


def test_definitions_replace_others() -> None:
    head = [VERSION, *REPLACED[:2], OTHERS[0], REPLACED[2], REPLACED[0]]
    extended = lines_of(head)
    assert [line[:15] for line in extended[1:5]] == [
        "##INFO=<ID=DP,N",
        "##FORMAT=<ID=DP",
        "##FILTER=<ID=q1",
        "##FORMAT=<ID=PL",
    ]
    assert sum(line.startswith("##INFO=<ID=DP,") for line in extended) == 1


def test_missing_contigs_follow_the_others() -> None:
    extended = lines_of([VERSION, "##contig=<ID=chr2>", "##contig=<ID=x>", "##source=s"])
    assert extended[1:6] == [
        "##contig=<ID=chr2>",
        "##contig=<ID=x>",
        "##contig=<ID=chr1,length=1000>",
        "##contig=<ID=HLA-A*01:01:01:01,length=3503>",
        "##source=s",
    ]
    assert lines_of([VERSION, "##source=s"])[1:3] == [
        "##source=s",
        "##contig=<ID=chr1,length=1000>",
    ]


def test_contigs_that_a_header_cannot_store_are_omitted() -> None:
    names = ["a,b", "<c>", "d e", "", 'f"']
    header = genotyped_header([VERSION], dict.fromkeys(names, 9), ["s"], "c", "1")
    assert b"##contig" not in header


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("##fileformat=VCFv4.0", "##fileformat=VCFv4.3"),
        ("##fileformat=VCFv4.2", "##fileformat=VCFv4.3"),
        ("##fileformat=VCFv4.3", "##fileformat=VCFv4.3"),
        ("##fileformat=VCFv4.5", "##fileformat=VCFv4.5"),
        ("##fileformat=VCFv4.10", "##fileformat=VCFv4.10"),
        ("##fileformat=VCF", "##fileformat=VCFv4.3"),
    ],
)
def test_version(version: str, expected: str) -> None:
    extended = lines_of([version, "##source=s"])
    assert extended[:2] == [expected, "##source=s"]
    assert sum(line.startswith("##fileformat") for line in extended) == 1


def test_header_without_lines() -> None:
    assert lines_of([])[0] == "##fileformat=VCFv4.3"


def test_program_and_command_are_added_to_earlier_ones() -> None:
    text = genotyped_header([VERSION], {}, ["s"], "hapgpu genotype\t'a\nb'  c", "1.2").decode()
    first = text.split("\n")[:-2]
    assert first[-2:] == [
        "##hapgpu_genotypeVersion=1.2",
        "##hapgpu_genotypeCommand=hapgpu genotype 'a b' c",
    ]
    again = genotyped_header(first, {}, ["s"], "second", "1.3").decode().split("\n")
    assert again[:-4] == first
    assert again[-4:-2] == ["##hapgpu_genotypeVersion=1.3", "##hapgpu_genotypeCommand=second"]


@pytest.mark.parametrize("name", ["", "a\tb", "a\nb", "a\rb", "a\0b"])
def test_sample_names_that_vcf_cannot_store(name: str) -> None:
    with pytest.raises(OutputError, match="sample name") as raised:
        lines_of([VERSION], ["fine", name])
    assert "\n" not in str(raised.value)


def test_two_samples_of_one_name() -> None:
    with pytest.raises(OutputError, match="sample name 'a': 2 samples have it"):
        lines_of([VERSION], ["a", "b", "a"])


def test_odd_sample_names_stay_as_they_are() -> None:
    names = ["two words", "caf\u00e9", "#1,<2>", b"\xff".decode("utf-8", "surrogateescape")]
    assert lines_of([VERSION], names)[-1].split("\t")[8:] == ["FORMAT", *names]


def test_long_hostile_lines_take_no_time() -> None:
    hostile = ["##INFO=<" + "a" * 10**6, "##INFO=<" + 'a="' * 10**5, "##" + "=<" * 10**6]
    assert [line for line in lines_of([VERSION, *hostile]) if line in hostile] == hostile


@pytest.mark.skipif(not shutil.which("bcftools"), reason="bcftools is not installed")
def test_bcftools_reads_it_without_warnings(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf"
    record = "chr1\t9\t.\tA\tC\t.\tPASS\tDP=1\tGT:GQ:DP:AD:PL\t0/1:9:1:0,1:9,0,9"
    lines = [*lines_of([VERSION, *OTHERS, *REPLACED]), record]
    path.write_text("".join(f"{line}\n" for line in lines))
    run = subprocess.run(["bcftools", "view", str(path)], capture_output=True, check=True)
    assert run.stderr == b""
    assert record.encode() in run.stdout.splitlines()


def test_headers_of_real_files(data_dir: Path, tmp_path: Path) -> None:
    paths = sorted((data_dir / "illumina_na12878").glob("**/*.vcf.gz"))
    if not paths:
        pytest.skip("no VCF in the test data")
    for path in paths:
        with pysam.VariantFile(str(path)) as file:
            before = file.header
        lines = [line for line in str(before).splitlines() if line.startswith("##")]
        header = read(lines_of(lines), tmp_path)
        assert set(header.info) == {*before.info, "DP"}
        assert set(header.formats) == {*before.formats, *OURS}
        assert {*header.contigs} == {*before.contigs, *CONTIGS}
