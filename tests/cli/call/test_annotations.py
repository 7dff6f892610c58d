"""`hapgpu call` with the options on INFO, FORMAT and FILTER."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, text_of
from tests.cli.in_process import error_of_command

NON_REF = "<NON_REF>"
AS_GROUP = ("--annotation-group", "AS_StandardAnnotation")
RAW = ["AS_RAW_BaseQRankSum", "AS_RAW_MQ", "AS_RAW_MQRankSum", "AS_RAW_ReadPosRankSum"]
EVERY = [
    *("--annotation", "AlleleFraction", "--annotation", "ClippingRankSumTest"),
    *("--annotation", "LikelihoodRankSumTest", "--annotation", "MappingQualityZero"),
    *("--annotation", "StrandBiasBySample", "--annotation", "TandemRepeat"),
    "--annotate-with-num-discovered-alleles",
]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def plain(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    return called(tmp_path_factory.mktemp("plain"), *example)


@pytest.fixture(scope="module")
def genomic(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    return called(tmp_path_factory.mktemp("genomic"), *example, "--gvcf")


def info_of(row: list[str]) -> dict[str, str]:
    items = (item.partition("=") for item in row[7].split(";"))
    return {name: value for name, _, value in items}


def variants_in(text: str) -> list[list[str]]:
    return [row for row in records_in(text) if row[4] != NON_REF]


def declared(text: str, kind: str) -> set[str]:
    heads = [line for line in text.splitlines() if line.startswith(f"##{kind}=<ID=")]
    return {line.partition("ID=")[2].partition(",")[0] for line in heads}


def check_declared(text: str) -> None:
    """All fields of records are declared."""
    for row in records_in(text):
        assert info_of(row).keys() <= declared(text, "INFO") | {"END"}
        assert set(row[8].split(":")) <= declared(text, "FORMAT")


def test_allele_specific_fields(example: Inputs, genomic: str, tmp_path: Path) -> None:
    """Raw fields are added to the records of a genomic VCF, and nothing else changes."""
    text = called(tmp_path, *example, "--gvcf", *AS_GROUP)
    added = {*RAW, "AS_SB_TABLE"}
    assert declared(text, "INFO") - declared(genomic, "INFO") == {
        *added,
        "AS_InbreedingCoeff",
        "AS_QD",
    }
    rows, others = records_in(text), records_in(genomic)
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        info = info_of(row)
        assert row[:7] + row[8:] == other[:7] + other[8:]
        assert {k: v for k, v in info.items() if k not in added} == info_of(other)
        assert (info.keys() & added == added) == (row[4] != NON_REF)
        if row[4] == NON_REF:
            continue
        sample = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
        strands = [one.split(",") for one in info["AS_SB_TABLE"].split("|")]
        totals = [sum(int(one[side]) for one in strands[1:]) for side in (0, 1)]
        assert sample["SB"] == ",".join([*strands[0], *map(str, totals)])
        assert all(info[name].count("|") == row[4].count(",") + 1 for name in added)
    check_declared(text)


@pytest.mark.parametrize("arguments", [(), ("--gvcf", *AS_GROUP)])
def test_every_field_on_threads(
    example: Inputs, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    text = called(tmp_path, *example, *EVERY, *arguments, threads=1)
    assert text == called(tmp_path, *example, *EVERY, *arguments, threads=3)
    check_declared(text)
    rows = variants_in(text)
    assert all({"MQ0", "NDA"} <= info_of(row).keys() for row in rows)
    assert all({"AF", "SB"} <= set(row[8].split(":")) for row in rows)
    assert any("ClippingRankSum" in info_of(row) for row in rows)
    assert any("LikelihoodRankSum" in info_of(row) for row in rows)
    has_repeats = any("STR" in info_of(row) for row in rows)
    assert has_repeats == (not arguments)  # `<NON_REF>` is no indel
    with pysam.VariantFile(str(tmp_path / "called.vcf")) as file:
        assert len(list(file)) == len(records_in(text))


def test_processes_and_bam(example: Inputs, tmp_path: Path) -> None:
    """Fields do not depend on processes, and are the same beside --bam-out."""
    text = called(tmp_path, *example, *EVERY)
    bam = tmp_path / "realigned.bam"
    assert text == called(tmp_path, *example, *EVERY, "--processes", "2", "--bam-out", bam)


def test_added_fields_change_no_others(example: Inputs, plain: str, tmp_path: Path) -> None:
    text = called(tmp_path, *example, *EVERY)
    for row, other in zip(records_in(text), records_in(plain), strict=True):
        assert row[:7] == other[:7]
        before = info_of(other)
        assert {k: v for k, v in info_of(row).items() if k in before} == before
        sample = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
        assert ":".join(sample[name] for name in other[8].split(":")) == other[9]


def test_tandem_repeat_of_the_example(example: Inputs, tmp_path: Path) -> None:
    text = called(tmp_path, *example, "--annotation", "TandemRepeat")
    (row,) = (row for row in records_in(text) if row[1] == "15180")
    info = info_of(row)
    assert (row[3], row[4], info["RU"]) == ("TCACA", "T,TCACACACACA", "CA")
    counts = [int(count) for count in info["RPA"].split(",")]
    assert [count - counts[0] for count in counts] == [0, -2, 3]
    assert "STR" in info


def test_excluded_fields(example: Inputs, plain: str, tmp_path: Path) -> None:
    names = ["FisherStrand", "Coverage", "DepthPerAlleleBySample", "DepthPerSampleHC"]
    arguments = [part for name in names for part in ("--annotations-to-exclude", name)]
    text = called(tmp_path, *example, *arguments)
    assert declared(plain, "INFO") - declared(text, "INFO") == {"FS", "DP"}
    assert declared(plain, "FORMAT") - declared(text, "FORMAT") == {"AD", "DP"}
    for row, other in zip(records_in(text), records_in(plain), strict=True):
        expected = {k: v for k, v in info_of(other).items() if k not in ("FS", "DP", "QD")}
        assert {k: v for k, v in info_of(row).items() if k != "QD"} == expected
        assert row[8] == "GT:GQ:PL"


def test_no_annotations(example: Inputs, tmp_path: Path) -> None:
    text = called(tmp_path, *example, "--disable-tool-default-annotations")
    assert declared(text, "INFO") == {"MLEAC", "MLEAF"}
    assert {row[8] for row in records_in(text)} == {"GT:GQ:PL"}
    check_declared(text)


def test_no_annotations_of_a_genomic_vcf(example: Inputs, genomic: str, tmp_path: Path) -> None:
    text = called(tmp_path, *example, "--gvcf", "--disable-tool-default-annotations")
    assert declared(text, "INFO") == {"END", "MLEAC", "MLEAF"}
    formats = {row[8] for row in variants_in(text)}
    assert formats <= {"GT:GQ:PL:SB", "GT:GQ:PGT:PID:PL:PS:SB"}
    blocks = [row for row in records_in(text) if row[4] == NON_REF]
    assert blocks == [row for row in records_in(genomic) if row[4] == NON_REF]


def test_filters(example: Inputs, plain: str, tmp_path: Path) -> None:
    text = called(tmp_path, *example, "--filter")
    found = records_in(text)
    assert [row[:6] + row[7:] for row in found] == [row[:6] + row[7:] for row in records_in(plain)]
    expected = [";".join(expected_filters(row)) or "PASS" for row in found]
    assert [row[6] for row in found] == expected
    assert "PASS" in expected
    assert len(declared(text, "FILTER")) == 9


def expected_filters(row: list[str]) -> list[str]:
    """Apply GATK's published thresholds to the written values."""
    info = {name: float(value) for name, value in info_of(row).items() if "," not in value}
    alts = [alt for alt in row[4].split(",") if alt != "*"]
    common = [("QD2", "QD", 2.0, -1), ("QUAL30", "QUAL", 30.0, -1)]
    snps = [
        *common,
        ("FS60", "FS", 60.0, 1),
        ("MQ40", "MQ", 40.0, -1),
        ("MQRankSum-12.5", "MQRankSum", -12.5, -1),
        ("ReadPosRankSum-8", "ReadPosRankSum", -8.0, -1),
        ("SOR3", "SOR", 3.0, 1),
    ]
    indels = [
        *common,
        ("FS200", "FS", 200.0, 1),
        ("ReadPosRankSum-20", "ReadPosRankSum", -20.0, -1),
    ]
    has_indel = any(len(alt) != len(row[3]) for alt in alts)
    info["QUAL"] = float(row[5])
    return sorted(
        name
        for name, field, bound, side in (indels if has_indel else snps)
        if field in info and side * (info[field] - bound) > 0
    )


def test_default_groups_are_named_once(
    example: Inputs, plain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "called.vcf"
    groups = ["--annotation-group", "StandardAnnotation", "--annotation-group", "StandardHC"]
    assert status_of(*example, *groups, "-o", path) == 0
    printed = capsys.readouterr().err
    warning = "--annotation-group: no effect, already enabled: StandardAnnotation, StandardHCAnnot"
    assert printed.count(warning) == 1
    assert text_of(path) == plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--annotation-group", "X"], "--annotation-group X: unknown group; use StandardAnnotat"),
        (["--annotation", "FS"], "--annotation FS: unknown annotation; give the name of GATK's"),
        (["--annotation", "\x00\x1b"], "unknown annotation"),
        (["--annotations-to-exclude", ""], "--annotations-to-exclude : unknown annotation"),
        (["--annotation", "CountNs"], "annotations not supported: CountNs; drop them, or exclude"),
        (["--enable-all-annotations"], "annotations not supported: AS_StrandBiasMutectAnnotation"),
        ([*AS_GROUP], "allele-specific annotations need a genomic VCF: AS_BaseQualityRankSumTest"),
        (["--filter", "--gvcf"], "--filter: no effect on a genomic VCF: its records are not final"),
        (
            ["--filter", "--annotations-to-exclude", "QualByDepth"],
            "--filter: needs QualByDepth; do not exclude them",
        ),
        (
            ["--filter", "--disable-tool-default-annotations"],
            "--filter: needs FisherStrand, MappingQualityRankSumTest, QualByDepth",
        ),
    ],
)
def test_errors(
    example: Inputs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    path = tmp_path / "called.vcf"
    assert status_of(*example, *arguments, "-o", path) == 2
    assert message in error_of_command("call", capsys)
    assert not path.exists()
