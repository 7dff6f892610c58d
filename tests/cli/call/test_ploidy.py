"""`hapgpu call` with other ploidies than 2: records, and command lines that are refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from hapgpu import call
from hapgpu.calling.options import CallOptions, VariantOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.ploidies import Ploidies, PloidyRegion
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import Region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics
from tests.cli.call.command import (
    Inputs,
    called,
    make_inputs,
    records_in,
    status_of,
    text_of,
)

REGION = "chr20:15000-15300"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


def bed(directory: Path, *lines: str) -> Path:
    path = directory / "ploidies.bed"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def fields(row: list[str], sample: int = 0) -> dict[str, str]:
    return dict(zip(row[8].split(":"), row[9 + sample].split(":"), strict=True))


@pytest.mark.parametrize("name", ["--ploidy", "--sample-ploidy"])
@pytest.mark.parametrize("ploidy", [1, 3, 20])
def test_all_records_have_the_ploidy(
    example: Inputs, tmp_path: Path, ploidy: int, name: str
) -> None:
    rows = records_in(called(tmp_path, *example, name, str(ploidy)))
    assert len(rows) >= 5
    for row in rows:
        sample = fields(row)
        assert sample["GT"].count("/") == ploidy - 1
        assert f"AN={ploidy};" in row[7]
        assert "ExcessHet" not in row[7]
        if row[4].count(",") == 0:
            assert sample["PL"].count(",") == ploidy
    if ploidy == 1:
        assert {fields(row)["GT"] for row in rows} <= {"1", "2"}


def test_the_array_of_genotypes(example: Inputs, tmp_path: Path) -> None:
    rows = records_in(called(tmp_path, *example, "--ploidy", "3"))
    found = call(*example, ploidy=3, device="cpu")
    assert found.genotypes.shape == (len(rows), 1, 3)
    texts = ["/".join(map(str, row)) for row in found.genotypes[:, 0].tolist()]
    assert texts == [fields(row)["GT"] for row in rows]
    table = found.to_dataframe() if pandas_is_there() else None
    assert table is None or table["genotype"].tolist() == texts
    assert np.isnan(found.annotations["ExcessHet"]).all()


def pandas_is_there() -> bool:
    try:
        import pandas  # noqa: F401, ICN001, PLC0415
    except ImportError:
        return False
    return True


def test_ploidies_of_regions(example: Inputs, tmp_path: Path) -> None:
    """Records of a haploid region beside diploid ones; those outside are as without it."""
    plain = records_in(called(tmp_path, *example))
    half = int(plain[len(plain) // 2][1]) - 500
    path = bed(tmp_path, f"chr20\t{half}\t{half + 1000}\t1")
    mixed = records_in(called(tmp_path, *example, "--ploidy-regions", path))
    near = range(half - 400, half + 1400)
    others = [row for row in plain if int(row[1]) not in near]
    assert [row for row in mixed if int(row[1]) not in near] == others
    inside = [row for row in mixed if half < int(row[1]) <= half + 1000]
    assert inside
    assert all("/" not in fields(row)["GT"] for row in inside)


def test_a_region_that_changes_nothing(example: Inputs, tmp_path: Path) -> None:
    plain = called(tmp_path, *example)
    path = bed(tmp_path, "chr20\t0\t100\t2")
    assert called(tmp_path, *example, "--ploidy-regions", path) == plain
    assert called(tmp_path, *example, "--ploidy", "2") == plain
    assert called(tmp_path, *example, "--sex", "xx") == plain
    assert called(tmp_path, *example, "--max-genotype-count", "1024") == plain


@pytest.mark.parametrize("words", [["--ploidy", "1"], ["--ploidy", "4"]])
def test_genomic_vcf(example: Inputs, tmp_path: Path, words: list[str]) -> None:
    """Variant records have the ploidy, and no phase."""
    text = called(tmp_path, *example, "--gvcf", *words)
    variants = [row for row in records_in(text) if row[4] != "<NON_REF>"]
    assert variants
    for row in variants:
        assert fields(row)["GT"].count("/") == int(words[1]) - 1
        assert "PID" not in row[8]
        assert "|" not in row[9].split(":")[0]


@pytest.mark.parametrize(("ploidy", "genotype"), [(1, "1"), (2, "1|1"), (3, "1|1|1")])
def test_phases_of_a_region_in_a_diploid_run(
    example: Inputs, tmp_path: Path, ploidy: int, genotype: str
) -> None:
    path = bed(tmp_path, f"chr20\t17000\t18000\t{ploidy}")
    words = (*example, "--gvcf", "-r", "chr20:17500-17800", "--ploidy-regions", path)
    phased = [row for row in records_in(called(tmp_path, *words)) if "PID" in row[8]]
    assert len(phased) >= 3
    assert {fields(row)["GT"] for row in phased} == {genotype}
    assert {fields(row)["PGT"] for row in phased} == {"0|1"}


def test_threads_and_samples(example: Inputs, tmp_path: Path) -> None:
    text = example.reads.with_suffix(".sam").read_text().replace("SM:", "SM:second_")
    second = tmp_path / "second.sam"
    second.write_text(text)
    words = [example.reads, second, example.reference, "--ploidy", "3"]
    one, two = (called(tmp_path, *words, threads=count) for count in (1, 2))
    assert one == two
    for row in records_in(one):
        assert fields(row)["GT"] == fields(row, 1)["GT"]
        assert "AN=6;" in row[7]


def test_few_genotypes(example: Inputs, tmp_path: Path) -> None:
    """Five genotypes: of four copies of REF and one ALT."""
    rows = records_in(called(tmp_path, *example, "--ploidy", "4", "--max-genotype-count", "5"))
    assert rows
    assert all(row[4].count(",") == 0 for row in rows)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--ploidy", "0"], 2, "--ploidy"),
        (["--ploidy", "101"], 2, "--ploidy"),
        (["--ploidy", "x"], 2, "--ploidy"),
        (["--max-genotype-count", "1"], 2, "--max-genotype-count"),
        (
            ["--max-genotype-count", "20", "--ploidy", "20"],
            2,
            "--max-genotype-count: two alleles have 21 genotypes of ploidy 20; give at least 21",
        ),
        (["--sex", "xo"], 2, "--sex"),
        (["--sex", "xy", "--ploidy", "2"], 2, "--ploidy: no effect with --sex; drop one of them"),
        (["--sex", "xy"], 1, "no contig X or Y, with or without chr; drop --sex xy"),
        (["--ploidy-regions", "none.bed"], 1, "none.bed: no such file"),
    ],
)
def test_refused(
    example: Inputs, capfd: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    assert status_of(*example, *words) == status
    error = capfd.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"20\t1\t2\t1\n", "line 1: no contig '20' in "),
        (b"chr20\t1\t2\n", "line 1: no name in column 4; add it"),
        (b"chr20\t1\t2\t-1\n", "line 1: ploidy is '-1', expected 1 to 100"),
        (b"\0\1\2\3", "unknown kind of file; give BED or interval_list"),
        (gzip.compress(b"chr20\t1\t2\tx\n", mtime=0), "line 1: ploidy is 'x', expected 1 to 100"),
    ],
)
def test_refused_files(
    example: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: bytes, message: str
) -> None:
    path = tmp_path / "ploidies.bed"
    path.write_bytes(text)
    assert status_of(*example, "--ploidy-regions", path) == 1
    error = capfd.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_empty_file_of_regions(
    example: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.vcf"
    words = ("-r", REGION, "--ploidy-regions", bed(tmp_path), "-o", out)
    assert status_of(*example, *words) == 0
    assert "no region, nothing has another ploidy" in capfd.readouterr().err


def test_the_file_of_regions_is_not_written_over(
    example: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = bed(tmp_path, "chr20\t0\t100\t1")
    assert status_of(*example, "--ploidy-regions", path, "-o", path) == 2
    assert "is also an input" in capfd.readouterr().err


@pytest.mark.parametrize("segment_size", [977, 5_000])
def test_segments(example: Inputs, tmp_path: Path, segment_size: int) -> None:
    """Regions of other ploidies that begin and end anywhere in segments change nothing there."""
    lengths = {"chr20": 20_000}
    found = [
        PloidyRegion(Region("chr20", start, start + 1500), ploidy)
        for start, ploidy in ((4_700, 1), (5_150, 3), (9_000, 5), (15_100, 1))
    ]
    texts = []
    for size in (max(lengths.values()), segment_size):
        out = tmp_path / f"{size}.vcf"
        options = CallOptions(genotyping=VariantOptions(ploidies=Ploidies.of(2, found)))
        inputs = CallInputs([str(example.reads)], example.reference)
        with CallSession(inputs, options, [CpuDevice(1)], 1, size) as session:
            statistics = RunStatistics("call", [], [], 1)
            write_calls(session, str(out), statistics, threads=1, command_line="call")
        texts.append(text_of(out))
    assert texts[0] == texts[1]
    ploidies = {fields(row)["GT"].count("/") + 1 for row in records_in(texts[0])}
    assert ploidies >= {1, 2, 3, 5}
