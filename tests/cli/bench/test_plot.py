"""`hapgpu bench --plot`."""

from __future__ import annotations

from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from hapgpu.benchmark.measurement import Measurement
from hapgpu.cli.bench import plot
from hapgpu.cli.bench.plot import plot_of, speed_ups_of
from hapgpu.cli.catalogue import METHODS
from hapgpu.report.charts import svg
from tests.cli.in_process import status_of_command

needs_vega = pytest.mark.skipif(
    util.find_spec("vl_convert") is None, reason="vl-convert-python is not installed"
)
BATCHES = "2 1\nACGT IIII NNNN NNNN ++++\nAC II NN NN ++\nACGTAC\n"


def measured(task: str, device: str, rate: float, unit: str = "reads") -> Measurement:
    """Return a measurement of one second."""
    return Measurement(
        device=device, task=task, data="", unit=unit, numbers={unit: rate}, seconds=1.0
    )


WHOLE = replace(measured("whole run", "CPU, 2 threads", 40.0), bound="read", busy=0.8, share=0.5)


def plotted(lines: list[Measurement]) -> dict[str, Any]:
    return plot_of("hapgpu bench map", lines, lambda line: line.task)


def values(lines: list[Measurement]) -> list[list[dict[str, object]]]:
    return [panel["data"]["values"] for panel in plotted(lines)["vconcat"]]


def test_the_bound_is_beside_the_rate() -> None:
    [[kernels, whole]] = values([measured("<kernels>", "cuda:0", 80.0), WHOLE])
    assert (kernels["rate"], kernels["limit"], kernels["words"]) == (80, None, "80")
    assert (whole["rate"], whole["limit"], whole["end"]) == (40, 50, 50)
    assert whole["words"] == "40; bound: read, 80 % busy, 50 % reached"


def test_a_panel_per_unit() -> None:
    pairs = measured("scores", "cuda:0", 3.0, "pairs")
    assert [len(panel) for panel in values([WHOLE, pairs, WHOLE])] == [2, 1]


def test_rates_of_other_magnitudes_have_a_logarithmic_axis() -> None:
    for rate, scale in ((2000.0, "linear"), (2001.0, "log")):
        lines = [WHOLE, measured("lines", "cuda:0", rate)]
        [panel] = plotted(lines)["vconcat"]
        assert panel["layer"][0]["encoding"]["x"]["scale"]["type"] == scale


def scaled(task: str, threads: int, gpus: int, speed_up: float) -> Measurement:
    numbers = {"reads": 9, "threads": threads, "gpus": gpus, "speed_up": speed_up}
    return replace(measured(task, "", 1.0), numbers=numbers)


def test_speed_ups_beside_the_ideal() -> None:
    lines = [
        *(scaled("PAF", threads, 0, up) for threads, up in ((1, 1.0), (2, 1.5))),
        *(scaled("PAF", 4, gpus, up) for gpus, up in ((1, 6.0), (2, 9.0))),
        scaled("SAM", 1, 0, 1.0),
    ]
    cpu, gpus = speed_ups_of("hapgpu bench chain", lines, lambda line: line.task)["vconcat"]
    found = [
        [tuple(point[key] for key in ("name", "count", "speed_up", "ideal")) for point in points]
        for points in (cpu["data"]["values"], gpus["data"]["values"])
    ]
    assert found == [
        [("PAF", 1, 1, 1), ("PAF", 2, 1.5, 2), ("SAM", 1, 1, 1)],
        [("PAF", 1, 6, 6), ("PAF", 2, 9, 12)],
    ]


@needs_vega
def test_a_measurement_is_drawn(tmp_path: Path) -> None:
    batches, drawn = tmp_path / "batches.in", tmp_path / "rates.svg"
    batches.write_text(BATCHES)
    options = ("--batches", batches, "--device", "cpu", "-t", "1", "--plot", drawn)
    assert status_of_command("bench", "pairhmm", *options) == 0
    text = drawn.read_text()
    assert text.startswith("<svg")
    assert "whole run, batches.in x1" in text
    assert "% busy" in text
    assert [path.name for path in tmp_path.iterdir()].count("rates.svg") == 1


def test_without_the_extra_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plot.util, "find_spec", lambda _: None)
    drawn = tmp_path / "rates.svg"
    assert status_of_command("bench", "io", "--plot", drawn) == 2
    shown = capsys.readouterr()
    message = "--plot: needs vl-convert-python; run: pip install 'hapgpu[report]'"
    assert shown.err == f"hapgpu bench: error: {message}\n"
    assert not shown.out
    assert not drawn.exists()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_draws(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of_command("bench", method, "--help") == 0
    assert "--plot" in capsys.readouterr().out


def test_a_plot_is_not_written_over_an_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = tmp_path / "batches.in"
    batches.write_text(BATCHES)
    assert status_of_command("bench", "pairhmm", "--batches", batches, "--plot", batches) == 2
    assert "is also an input" in capsys.readouterr().err
    assert batches.read_text() == BATCHES


@needs_vega
def test_names_are_escaped() -> None:
    drawn = svg(plotted([measured("</text><script>", "x", 1.0)]))
    assert "&lt;/text&gt;&lt;script&gt;" in drawn
    assert "<script" not in drawn
