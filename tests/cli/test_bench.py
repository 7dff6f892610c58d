"""`hapgpu bench pairhmm` from end to end, on data too small to measure anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hapgpu.pairhmm import benchmark
from tests.cli.in_process import status_of_command

COLUMNS = ["device", "what", "data", "cells", "seconds", "GCUPS"]
REGIONS = "2 1\nACGT IIII NNNN NNNN ++++\nAC II NN NN ++\nACGTAC\n"
CELLS = 6 * 6


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("bench", *arguments)


@pytest.fixture
def regions(tmp_path: Path) -> Path:
    path = tmp_path / "regions.in"
    path.write_text(REGIONS)
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_regions_of_a_file(
    regions: Path, tmp_path: Path, threads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    arguments = ("--batches", regions, "--copies", "7", "--device", "cpu", "-t", str(threads))
    assert status_of("pairhmm", *arguments, "--json", statistics) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == COLUMNS
    assert [row[0] for row in rows] == ["CPU, 1 thread", "CPU, 2 threads"][:threads]
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert row[1:3] == ["whole call", "regions.in x7"]
        assert int(row[3]) == line["cells"] == 7 * CELLS
        assert float(row[4]) == pytest.approx(line["seconds"], rel=1e-3)
        assert float(row[5]) == pytest.approx(7 * CELLS / line["seconds"] / 1e9, rel=1e-3)


def test_one_copy_unless_told(regions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("pairhmm", "--batches", regions, "--device", "cpu", "-t", "1") == 0
    *_, row = capsys.readouterr().out.splitlines()
    assert row.split("\t")[2:4] == ["regions.in x1", str(CELLS)]


def test_made_up_regions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "SHAPES", ((3, 5), (6, 4)))
    monkeypatch.setattr(benchmark, "_CPU_CELLS", 50_000)
    assert status_of("pairhmm", "--device", "cpu", "-t", "1") == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == COLUMNS
    assert [(row[2], int(row[3])) for row in rows] == [
        ("3 x 5", 3 * 1024 * 15),
        ("6 x 4", 2 * 1024 * 24),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["realign", "--batches", "x.in"], "--batches is for bench pairhmm, not for bench realign"),
        (["io", "--batches", "x.in"], "--batches is for bench pairhmm, not for bench io"),
        (["pairhmm", "--copies", "3"], "--copies repeats the regions of a file"),
        (["pairhmm", "--batches", "x.in", "--copies", "0"], "--copies"),
    ],
)
def test_usage_errors(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(*arguments, "--device", "cpu") == 2
    assert said in capsys.readouterr().err


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("pairhmm", "--batches", tmp_path / "none.in", "--device", "cpu") == 1
    assert "none.in: no such file" in capsys.readouterr().err


@pytest.mark.gpu
def test_regions_of_a_file_on_the_gpu(regions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("pairhmm", "--batches", regions, "--copies", "3", "--device", "cuda:0") == 0
    _, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert [row[1] for row in rows] == ["whole call", "whole call, pinned input"]
    assert {tuple(row[2:4]) for row in rows} == {("regions.in x3", str(3 * CELLS))}


@pytest.mark.gpu
def test_made_up_regions_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "SHAPES", ((30, 50),))
    monkeypatch.setattr(benchmark, "_GPU_CELLS", 1e7)
    assert status_of("pairhmm", "--device", "cuda:0") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    whole = ["whole call", "whole call, pinned input"]
    assert [row[1] for row in rows] == ["what", "kernels", *whole]
    assert all(float(row[5]) > 0.0 for row in rows[1:])
