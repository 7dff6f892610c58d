"""Files of ploidies, and the sex chromosomes: regions, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.ploidies import PloidyRegion
from hapgpu.calling.ploidy_regions import haploid_regions, read_ploidies
from hapgpu.errors import InputError
from hapgpu.io.genome.regions import Region

LENGTHS = {"20": 63_025_520, "X": 1000}


def read(path: Path, text: str | bytes) -> list[PloidyRegion]:
    """Write a file and read it."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_ploidies(path, "ref.fa", LENGTHS)


def of_20(start: int, end: int, ploidy: int) -> PloidyRegion:
    return PloidyRegion(Region("20", start, end), ploidy)


BED = [of_20(9_999_999, 10_010_000, 2), of_20(10_060_000, 10_080_000, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "20\t9999999\t10010000\t2\n20\t10060000\t10080000\t1\n",
        "#c\ntrack name=x\n20 9999999 10010000 2 0 +\r\n\n20 10060000 10080000 1",
        (
            "@HD\tVN:1.6\n@SQ\tSN:20\tLN:63025520\n20\t10000000\t10010000\t+\t2\n"
            "20\t10060001\t10080000\t+\t1\n"
        ),
        gzip.compress(b"20\t9999999\t10010000\t2\n20\t10060000\t10080000\t1\n", mtime=0),
    ],
)
def test_bed_and_interval_list(tmp_path: Path, text: str | bytes) -> None:
    assert read(tmp_path / "x.bed", text) == BED


def test_no_regions(tmp_path: Path) -> None:
    assert read(tmp_path / "x.bed", "") == []
    assert read(tmp_path / "x.interval_list", "@HD\tVN:1.6\n@SQ\tSN:20\tLN:63025520\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("20\t1\t2\n", "no name in column 4; add it"),
        ("20\t1\t2\tx\n", "ploidy is 'x', expected 1 to 100; correct it, or remove the line"),
        ("20\t1\t2\t1.5\n", "ploidy is '1.5', expected 1 to 100"),
        ("20\t1\t2\t-1\n", "ploidy is '-1', expected 1 to 100"),
        ("20\t1\t2\t0\n", "ploidy is '0', expected 1 to 100"),
        ("20\t1\t2\t101\n", "ploidy is '101', expected 1 to 100"),
        ("20\t1\t2\tNaN\n", "ploidy is 'NaN', expected 1 to 100"),
        ("20\t1\t2\t" + "9" * 5000 + "\n", "expected 1 to 100"),
        ("20\t2\t2\t1\n", "start 2 is not below end 2"),
        ("20\t-1\t2\t1\n", "start is '-1'"),
        ("20\t1\n", "found 2 columns, expected at least 3"),
        ("chr20\t1\t2\t1\n", "no contig 'chr20' in ref.fa; found '20' instead; correct it"),
        ("Y\t1\t2\t1\n", "no contig 'Y' in ref.fa; correct it"),
        ("X\t1\t1001\t1\n", "ends after the 1,000 bases of its contig in ref.fa; correct it"),
        ("X\t1\t1001\t1\n", "line 1: "),
        ("@SQ\tSN:X\tLN:1000\nX\t1\t1000\t1\n", "line 2: found 4 columns, expected 5"),
        ("@SQ\tSN:X\tLN:1000\nX\t0\t1000\t+\t1\n", "line 2: start is '0', expected 1 or more"),
        ("@SQ\tSN:X\tLN:1000\nX\t1\t1001\t+\t1\n", "line 2: ends after the 1,000 bases"),
        (b"\xff\xfe\x00", "not BED"),
    ],
)
def test_faults(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as found:
        read(tmp_path / "x.bed", text)
    assert message in str(found.value)
    assert str(found.value).startswith(str(tmp_path / "x.bed"))
    assert "\n" not in str(found.value)


WORDS = st.sampled_from(
    [
        "20",
        "X",
        "@",
        "@SQ\tSN:20",
        "0",
        "1",
        "5",
        "-1",
        "1e3",
        "+",
        "nan",
        "9" * 30,
        "\t",
        "\n",
        "#",
        "",
    ]
)


@given(st.one_of(st.binary(max_size=60), st.lists(WORDS, max_size=40).map("\t".join)))
def test_any_bytes_are_regions_or_one_line_of_error(text: bytes | str) -> None:
    found, message = [], ""
    with TemporaryDirectory() as directory:
        try:
            found = read(Path(directory) / "x.bed", text)
        except InputError as error:
            message = str(error)
    assert "\n" not in message
    assert all(1 <= ploidy <= 100 for _, ploidy in found)
    assert all(0 <= r.start < r.end <= LENGTHS[r.contig] for r, _ in found)


@pytest.mark.parametrize("prefix", ["", "chr"])
def test_males_of_both_assemblies(prefix: str) -> None:
    """The pseudoautosomal regions are, 1-based, those of the assemblies' own tables."""
    for lengths, expected in (
        (
            {"X": 156_040_895, "Y": 57_227_415},
            [
                ("X", 1, 10_000),
                ("X", 2_781_480, 155_701_382),
                ("X", 156_030_896, 156_040_895),
                ("Y", 1, 10_000),
                ("Y", 2_781_480, 56_887_902),
                ("Y", 57_217_416, 57_227_415),
            ],
        ),
        (
            {"X": 155_270_560, "Y": 59_373_566},
            [
                ("X", 1, 60_000),
                ("X", 2_699_521, 154_931_043),
                ("X", 155_260_561, 155_270_560),
                ("Y", 1, 10_000),
                ("Y", 2_649_521, 59_034_049),
                ("Y", 59_363_567, 59_373_566),
            ],
        ),
    ):
        named = {f"{prefix}{name}": length for name, length in lengths.items()}
        found = haploid_regions("ref.fa", {f"{prefix}1": 5, **named})
        assert [ploidy for _, ploidy in found] == [1] * 6
        assert [(r.contig, r.start + 1, r.end) for r, _ in found] == [
            (f"{prefix}{name}", start, end) for name, start, end in expected
        ]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"chr20": 5}, "ref.fa: no contig X or Y, with or without chr; drop --sex xy"),
        (
            {"chrX": 5},
            (
                "ref.fa: contig 'chrX' has 5 bases, unlike in GRCh37 and GRCh38; give"
                " --ploidy-regions instead of --sex"
            ),
        ),
    ],
)
def test_other_assemblies_are_refused(lengths: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=r"^ref\.fa: ") as found:
        haploid_regions("ref.fa", lengths)
    assert str(found.value) == message
