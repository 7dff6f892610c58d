"""`hapgpu genotype --shard`: parts that are together exactly the whole, on real reads."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.genotype.command import status_of, text_of
from tests.cli.realign.command import make_example


def records_of(path: Path) -> list[str]:
    return [line for line in text_of(path).splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def inputs(data_dir: Path) -> list[Path]:
    data = data_dir / "illumina_na12878"
    names = ("NA12878.chr20.dev.bam", "chr20.hg19.fa.gz", "sites.dev.vcf.gz")
    return [data / name for name in names]


@pytest.fixture(scope="module")
def whole(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    out = tmp_path_factory.mktemp("whole") / "whole.vcf"
    assert status_of(*inputs, "-q", "-o", out) == 0
    return records_of(out)


def parts_of(inputs: list[Path], directory: Path, count: int, *options: str) -> Iterator[Path]:
    """Run each part, and yield its output."""
    for number in range(1, count + 1):
        out = directory / f"{number}.vcf.gz"
        assert status_of(*inputs, "-q", "--shard", f"{number}/{count}", *options, "-o", out) == 0
        yield out


@pytest.mark.parametrize("count", [2, 5])
def test_parts_are_the_whole(
    inputs: list[Path], whole: list[str], tmp_path: Path, count: int
) -> None:
    parts = [records_of(path) for path in parts_of(inputs, tmp_path, count)]
    assert [line for part in parts for line in part] == whole
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 14  # as many as the largest group of close sites has


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [1, 3, 7, 50])
def test_any_number_of_parts(
    inputs: list[Path], whole: list[str], tmp_path: Path, count: int
) -> None:
    parts = [records_of(path) for path in parts_of(inputs, tmp_path, count)]
    assert [line for part in parts for line in part] == whole


def test_parts_of_regions(inputs: list[Path], tmp_path: Path) -> None:
    options = ("-r", "chr20:10,005,000-10,015,000", "-r", "chr20:10,030,000-10,050,000")
    out = tmp_path / "whole.vcf"
    assert status_of(*inputs, "-q", *options, "-o", out) == 0
    parts = [records_of(path) for path in parts_of(inputs, tmp_path, 3, *options)]
    assert [line for part in parts for line in part] == records_of(out)


def test_more_parts_than_sites(tmp_path: Path) -> None:
    """Some parts are empty; bcftools and tabix accept them."""
    directory = make_example(tmp_path)
    example = [directory / name for name in ("reads.bam", "reference.fa", "sites.vcf")]
    out = tmp_path / "whole.vcf"
    assert status_of(*example, "-q", "-o", out) == 0
    parts = list(parts_of(example, tmp_path, 9))
    assert [] in map(records_of, parts)
    assert [line for part in parts for line in records_of(part)] == records_of(out)
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    joined = tmp_path / "joined.vcf.gz"
    subprocess.run(["bcftools", "concat", "-n", *parts, "-o", joined], check=True, timeout=60)
    assert records_of(joined) == records_of(out)


def test_standard_input_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even where a file has the name `-`."""
    directory = make_example(tmp_path)
    monkeypatch.chdir(directory)
    Path("-").write_bytes(Path("sites.vcf").read_bytes())
    assert status_of("reads.bam", "reference.fa", "-", "--shard", "1/2") == 2
    assert "-: --shard reads the sites twice; give a file, not a pipe" in capsys.readouterr().err
