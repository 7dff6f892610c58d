"""`hapgpu bench --scaling`, on data too small to measure anything."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.benchmark import input_files, mapping
from hapgpu.cli.bench.scaling import start_command
from hapgpu.errors import HapgpuError
from tests.cli.bench.test_plot import BATCHES, needs_vega
from tests.cli.in_process import status_of_command

BASES = 20_000
COLUMNS = ["device", "task", "data", "threads", "count", "unit", "seconds", "CPU seconds"]
COLUMNS += ["busy cores", "speed-up", "per second", "bound", "% busy"]
SAMPLE = f"{6000:,} bases, 30x"
ALIKE = pytest.mark.exhaustive
LONG_READS = "--reference made.fa --bases 50k --read-length 2k"


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make simulated data small, and a reference and text batches in the working directory."""
    letters = np.random.default_rng(4).choice(list("ACGT"), BASES)
    (tmp_path / "made.fa").write_text(f">made\n{''.join(letters)}\n")
    pysam.faidx(str(tmp_path / "made.fa"))
    (tmp_path / "made.sam").write_text(
        f"@SQ\tSN:made\tLN:{BASES}\n"
        f"read\t0\tmade\t10001\t60\t99M\t*\t0\t0\t{''.join(letters[10_000:10_099])}\t{99 * 'I'}\n"
    )
    (tmp_path / "batches.in").write_text(BATCHES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(input_files, "_GPU_TILE", 6000)
    monkeypatch.setattr(mapping, "_RANDOM_BASES", 20_000)
    monkeypatch.setattr(mapping, "_SCALING_READS", 300)


@pytest.mark.parametrize(
    ("words", "data", "unit"),
    [
        ("realign", SAMPLE, "reads"),
        pytest.param("realign --copies 2", "12,000 bases, 30x", "reads", marks=ALIKE),
        pytest.param("pairhmm", SAMPLE, "cells", marks=ALIKE),
        ("pairhmm --batches batches.in --copies 3", "batches.in x3", "cells"),
        pytest.param("genotype --reference made.fa", "made.fa x1, 30x", "sites", marks=ALIKE),
        ("call --reference made.fa --copies 2", "made.fa x2, 30x", "bases"),
        pytest.param(
            "call --bam made.sam --reference made.fa --region made:5001-15000 --copies 2",
            "made.sam made:5001-15000 x2",
            "bases",
            marks=ALIKE,
        ),
        ("map --copies 2", "random reference, simulated reads x2", "reads"),
    ],
)
def test_a_whole_run(
    words: str, data: str, unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--scaling --device cpu -t 1 --json lines.json"
    assert status_of_command("bench", *words.split(), *options.split()) == 0
    header, row = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert header == COLUMNS
    [line] = json.loads((tmp_path / "lines.json").read_text())
    assert row[:6] == ["CPU, 1 thread", "whole run", data, "1", str(line["count"]), unit]
    assert line["count"] > 0
    assert row[9] == "1.00"
    assert float(row[6]) == pytest.approx(line["seconds"], rel=1e-3)
    assert float(row[10]) == pytest.approx(line["count"] / line["seconds"], rel=1e-3)


@pytest.mark.exhaustive
def test_threads_of_both_runs_of_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    options = "-x map-hifi --scaling --device cpu -t 2 --json lines.json"
    assert status_of_command("bench", "chain", *LONG_READS.split(), *options.split()) == 0
    _, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[1], row[3]) for row in rows] == [
        (task, threads) for task in ("whole run", "whole run, SAM") for threads in "12"
    ]
    lines = json.loads((tmp_path / "lines.json").read_text())
    for line in lines:
        first = next(each for each in lines if each["task"] == line["task"])
        assert line["speed_up"] == first["seconds"] / line["seconds"]
        assert line["busy_cores"] == line["cpu_seconds"] / line["seconds"] > 0
        assert line["gpus"] == 0
    assert len({(line["count"], line["data"]) for line in lines}) == 1
    assert not list(temporary.iterdir())


@pytest.mark.gpu
def test_threads_and_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{LONG_READS} --scaling -t 1"
    assert status_of_command("bench", "chain", *words.split()) == 0
    _, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    for task in ("whole run", "whole run, SAM"):
        devices = [row[0] for row in rows if row[1] == task]
        assert devices[0] == "CPU, 1 thread"
        assert devices[1].startswith("cuda:0")


@needs_vega
def test_speed_ups_are_drawn(tmp_path: Path) -> None:
    words = "pairhmm --batches batches.in --scaling --device cpu -t 2 --plot drawn.svg"
    assert status_of_command("bench", *words.split()) == 0
    text = (tmp_path / "drawn.svg").read_text()
    assert "CPU threads" in text
    assert "GPUs<" not in text


def test_a_failed_run_is_reported() -> None:
    message = r"hapgpu map: ended with status 1; hapgpu map: error: none\.fa: no such file"
    with pytest.raises(HapgpuError, match=message):
        start_command(["map", "none.fa", "none.fq", "-o", "x.sam"])
    assert not Path("x.sam").exists()
