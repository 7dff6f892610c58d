"""Plots of measurements: rates, beside them the bounds of whole runs; and speed-ups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from typing import Final, TypeAlias

from hapgpu.benchmark.measurement import Measurement
from hapgpu.cli.bench.table import percent
from hapgpu.cli.terminal.work import short_number
from hapgpu.errors import UsageError
from hapgpu.io.files.output import OutputFile
from hapgpu.report.charts import COLOURS, Spec, svg

Name: TypeAlias = Callable[[Measurement], str]
Plot: TypeAlias = Callable[[str, Sequence[Measurement], Name], Spec]
"""Returns a specification, as `plot_of` does."""

_WIDTH: Final = 420
_HEIGHT: Final = 260
_STEP: Final = 20
_LIMIT_COLOUR: Final = "#222222"
_MAX_LINEAR: Final = 50
"""Largest ratio of rates of which the lower is still seen on a linear axis."""


def require_plots() -> None:
    """Check, before anything is measured, that plots can be drawn.

    Raises
    ------
    UsageError
        The package that draws them is missing.
    """
    if util.find_spec("vl_convert") is None:
        raise UsageError("--plot: needs vl-convert-python; run: pip install 'hapgpu[report]'")


def write_plot(path: Path, plot: Spec) -> None:
    """Write a plot as SVG, whole or not at all.

    Parameters
    ----------
    path
        The file; `-` is standard output.
    plot
        Its specification.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    drawn = svg(plot, _WIDTH)
    with OutputFile(path) as output:
        output.write(drawn.encode())


def plot_of(title: str, lines: Sequence[Measurement], name: Name) -> Spec:
    """Return the Vega-Lite specification of a plot of rates, one panel per unit.

    Parameters
    ----------
    title
        Its heading.
    lines
        Measurements, at least one.
    name
        Returns the name of a measurement in the plot.
    """
    panels: dict[str, list[Measurement]] = {}
    for line in lines:
        panels.setdefault(_unit(line), []).append(line)
    limited = "Line: the rate if the stage that bounds a whole run were always busy."
    subtitle = [limited] if any(map(_limit, lines)) else []
    return {
        "title": {"text": title, "subtitle": subtitle, "anchor": "start"},
        "vconcat": [_panel(unit, lines, name) for unit, lines in panels.items()],
    }


def _unit(line: Measurement) -> str:
    return f"{line.unit}/s of a thread" if line.of_a_thread else f"{line.unit}/s"


def _limit(line: Measurement) -> float | None:
    """Return the rate of a whole run if the stage that bounds it were always busy."""
    return line.rate / line.busy if line.busy else None


def _note(line: Measurement) -> str:
    """Return what is known of the bound, in words."""
    if line.bound is None:
        return ""
    reached = f", {percent(line.share)} % reached" if line.share is not None else ""
    return f"bound: {line.bound}, {percent(line.busy)} % busy{reached}"


def _panel(unit: str, lines: Sequence[Measurement], name: Name) -> Spec:
    """Return a row per measurement: its rate, its limit if known, and both in words."""
    rates = [line.rate for line in lines]
    is_log = max(rates) > _MAX_LINEAR * min(rates)
    values = [
        {
            "name": f"{number} {name(line)}",
            "device": line.device,
            "rate": line.rate,
            "limit": _limit(line),
            "end": max(line.rate, _limit(line) or 0),
            "words": "; ".join(filter(None, (short_number(line.rate), _note(line)))),
        }
        for number, line in enumerate(lines)
    ]
    names = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        # The number before a name keeps equal names apart.
        "axis": {
            "labelExpr": "slice(datum.label, indexof(datum.label, ' ') + 1)",
            "labelLimit": _WIDTH,
        },
    }
    rate = {
        **_along("rate"),
        "title": unit + (", logarithmic" if is_log else ""),
        "scale": {"type": "log" if is_log else "linear"},
        "axis": {"format": "~s"},
    }
    devices = {
        "field": "device",
        "type": "nominal",
        "title": None,
        "sort": None,
        "scale": {"range": list(COLOURS)},
    }
    tick = {"type": "tick", "color": _LIMIT_COLOUR, "thickness": 2, "size": _STEP - 4}
    words = {"type": "text", "dx": 6, "align": "left", "baseline": "middle", "fontSize": 10}
    return {
        "data": {"values": values},
        "width": _WIDTH,
        "height": {"step": _STEP},
        "encoding": {"y": names},
        "layer": [
            # The length of a bar means nothing on a logarithmic axis.
            {
                "mark": {"type": "circle", "size": 90, "opacity": 1} if is_log else "bar",
                "encoding": {"x": rate, "color": devices},
            },
            {
                "transform": [{"filter": "datum.limit"}],
                "mark": tick,
                "encoding": {"x": _along("limit")},
            },
            {
                "mark": words,
                "encoding": {"x": _along("end"), "text": {"field": "words", "type": "nominal"}},
            },
        ],
    }


def _along(field: str) -> Spec:
    return {"field": field, "type": "quantitative"}


def speed_ups_of(title: str, lines: Sequence[Measurement], name: Name) -> Spec:
    """Return the specification of a plot of speed-ups: of CPU threads, and of GPUs.

    Parameters
    ----------
    title
        Its heading.
    lines
        Measurements of `benchmark_scaling`, at least one.
    name
        Returns the name of a series.
    """
    on_gpus = [line for line in lines if line.numbers["gpus"]]
    on_cpu = [line for line in lines if not line.numbers["gpus"]]
    panels = (("CPU threads", "threads", on_cpu), ("GPUs", "gpus", on_gpus))
    data = sorted({line.data for line in lines})
    ideal = "Dashed: the first speed-up times the number of threads or GPUs."
    return {
        "title": {"text": title, "subtitle": [*data, ideal], "anchor": "start"},
        "vconcat": [_speed_ups(x, key, panel, name) for x, key, panel in panels if panel],
    }


def _speed_ups(x: str, key: str, lines: Sequence[Measurement], name: Name) -> Spec:
    """Return a line per series, and the ideal line of each."""
    firsts: dict[str, float] = {}
    values = []
    for line in lines:
        count, speed_up = line.numbers[key] or 0, line.numbers["speed_up"] or 0
        first = firsts.setdefault(name(line), speed_up / count)
        values.append(
            {
                "name": name(line),
                "count": count,
                "speed_up": speed_up,
                "ideal": first * count,
                "words": f"{speed_up:.3g}",
            }
        )
    counts = sorted({line.numbers[key] or 0 for line in lines})
    doubling = {"type": "log", "base": 2}
    along = {**_along("count"), "title": x, "scale": doubling, "axis": {"values": counts}}
    up = {"title": "speed-up", "scale": doubling, "axis": {"format": "~r"}}
    series = {"field": "name", "type": "nominal", "title": None, "sort": None}
    ideal = {"type": "line", "color": _LIMIT_COLOUR, "strokeDash": [4, 4], "strokeWidth": 1}
    words = {
        "type": "text",
        "dx": 5,
        "dy": 10,
        "align": "left",
        "baseline": "middle",
        "fontSize": 10,
    }
    return {
        "data": {"values": values},
        "width": _WIDTH,
        "height": _HEIGHT,
        "encoding": {"x": along},
        "layer": [
            {
                "mark": ideal,
                "encoding": {"y": {**_along("ideal"), **up}, "detail": {"field": "name"}},
            },
            {
                "mark": {"type": "line", "point": {"size": 60}},
                "encoding": {
                    "y": {**_along("speed_up"), **up},
                    "color": {**series, "scale": {"range": list(COLOURS)}},
                },
            },
            {
                "transform": [{"filter": "datum.speed_up != 1"}],
                "mark": words,
                "encoding": {
                    "y": {**_along("speed_up"), **up},
                    "text": {"field": "words", "type": "nominal"},
                },
            },
        ],
    }
