"""`hapgpu index --minimizers` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.index.files import MINIMIZER_FILE
from hapgpu.longread.options import SketchOptions
from tests.cli.in_process import status_of_command


def status_of(*arguments: str | Path) -> int:
    return status_of_command("index", *arguments)


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    letters = np.random.default_rng(1).choice(list("ACGT"), 3000)
    path = tmp_path / "ref.fa"
    path.write_text(f">one\n{''.join(letters)}\n>two\nNNACGT\n", encoding="ascii")
    return path


@pytest.mark.parametrize(
    ("options", "name", "sketch"),
    [
        ([], "ref.fa.k15w10.hgm", SketchOptions()),
        (["-x", "map-hifi"], "ref.fa.k19w19.hgm", SketchOptions(k=19, w=19)),
        (["-x", "map-pb"], "ref.fa.k19w10H.hgm", SketchOptions(k=19, w=10, is_hpc=True)),
        (["-k", "14", "-w", "7", "-H"], "ref.fa.k14w7H.hgm", SketchOptions(k=14, w=7, is_hpc=True)),
        (["-x", "lr:hq", "-w", "5"], "ref.fa.k19w5.hgm", SketchOptions(k=19, w=5)),
    ],
    ids=str,
)
def test_the_index_is_written_beside_the_reference(
    fasta: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    name: str,
    sketch: SketchOptions,
) -> None:
    assert status_of("--minimizers", *options, "-t", "2", fasta) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hapgpu index: device: CPU, 2 threads\n"
    assert {path.name for path in fasta.parent.iterdir()} == {"ref.fa", name}
    index = MINIMIZER_FILE.load(fasta.parent / name)
    assert index.sketch == sketch
    assert index.names == ("one", "two")


@pytest.mark.parametrize("device", ["auto", "cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_any_device_is_accepted(
    fasta: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str
) -> None:
    """The index is built on the CPU."""
    expected, made = tmp_path / "expected.hgm", tmp_path / "made.hgm"
    assert status_of("--minimizers", fasta, "-o", expected, "-q") == 0
    assert status_of("--minimizers", fasta, "-o", made, "--device", device, "-t", "1") == 0
    assert capsys.readouterr().err == "hapgpu index: device: CPU, 1 thread\n"
    assert made.read_bytes() == expected.read_bytes()


def test_output_elsewhere_and_statistics(
    fasta: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, report = tmp_path / "made", tmp_path / "run.json"
    assert status_of("--minimizers", "-q", "-o", target, "--json", report, fasta) == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert MINIMIZER_FILE.load(target).lengths.tolist() == [3000, 6]
    assert json.loads(report.read_text())["counts"] == {"contigs": 2, "bases": 3006}
