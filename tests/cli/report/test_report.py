"""`hapgpu report`: the page of all kinds of files, and its errors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.in_process import error_of_command, status_of_command
from tests.faults.made.inputs import make_inputs
from tests.report.sites.chromium import require_libraries


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_libraries()
    return make_inputs(tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("example"))


def status_of(*arguments: str | Path) -> int:
    return status_of_command("report", *arguments, "-t", "2")


@pytest.mark.exhaustive
def test_page_of_what_the_commands_write(inputs: Path, tmp_path: Path) -> None:
    reads, reference = inputs / "reads.bam", inputs / "reference.fa"
    runs = {
        "chain": (reference, inputs / "long.fq.gz", "-o", tmp_path / "long.paf"),
        "pairhmm": (reads, inputs / "haplotypes.fa", "-o", tmp_path / "likelihoods.tsv"),
        "map": (reference, inputs / "reads.fq.gz", "-o", tmp_path / "hits.sam"),
        "genotype": (reads, reference, inputs / "sites.vcf.gz", "-o", tmp_path / "sites.vcf"),
    }
    for command, arguments in runs.items():
        statistics = tmp_path / f"{command}.json"
        assert status_of_command(command, *arguments, "--json", statistics, "--device", "cpu") == 0
    page = tmp_path / "page.html"
    files = [arguments[-1] for arguments in runs.values()]
    files += [inputs / "reads.cram", *(tmp_path / f"{command}.json" for command in runs)]
    options = ["--reads", reads, "--reference", reference, "-o", page]
    assert status_of(*files, *options) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<section ") == len(files)
    assert "Dot plot" in text
    assert "Likelihood margins" in text
    assert "Hits per read" in text
    assert text.count(">Time of stages<") == len(runs)


def test_pages_are_equal(inputs: Path, tmp_path: Path) -> None:
    """The page depends neither on the run nor on the number of threads, but for its foot."""
    pages = [tmp_path / f"{threads}.html" for threads in (1, 3)]
    for threads, page in zip((1, 3), pages, strict=True):
        arguments = [inputs / "reads.bam", "-t", str(threads), "-o", page]
        assert status_of_command("report", *arguments) == 0
    (first, foot), (second, _) = (page.read_text().split("<footer>") for page in pages)
    assert first == second
    assert f"hapgpu report {inputs / 'reads.bam'} -t 1" in foot


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty; give VCF"),
        ("nothing of the kind\n", "unknown kind of file; give VCF"),
        ("{}", "no statistics of a run of hapgpu; give a file that --json of hapgpu wrote"),
        ("r\t9\t0\t9\t+\tc\t9\t0\t9\t9\t9\t60\nr\t9\n", "line 2: malformed PAF"),
        ("read\tmate\ta\nr\t1\tmuch\n", "line 2: malformed likelihoods"),
    ],
)
def test_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    require_libraries()
    file = tmp_path / "file"
    file.write_text(text, encoding="utf-8")
    assert status_of(file, "-o", tmp_path / "page.html") == 1
    error = error_of_command("report", capsys)
    assert str(file) in error
    assert fault in error
    assert not (tmp_path / "page.html").exists()


def test_surrogates(tmp_path: Path) -> None:
    """Half of a pair of UTF-16, which JSON may hold, and a byte of a name are no UTF-8."""
    require_libraries()
    file = tmp_path / os.fsdecode(b"name-\xff.json")
    file.write_text(json.dumps([{"seconds": 1.0, "task": "\ud800"}]), encoding="utf-8")
    page = tmp_path / "page.html"
    assert status_of(file, "-o", page) == 0
    text = page.read_text(encoding="utf-8")
    assert "<h2>name-?.json</h2>" in text
    assert "<td>?</td>" in text


def test_reads_without_sites(
    inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = inputs / "reads.bam"
    assert status_of(reads, "--reads", reads, "-o", tmp_path / "page.html") == 2
    assert "--reads: belongs to sites; give a VCF, too" in error_of_command("report", capsys)


def test_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    require_libraries()
    assert status_of("-") == 2
    assert "FILES: cannot be standard input (-); give a file" in error_of_command("report", capsys)
