"""Plots of measurements: the rate of each, and beside it the bound of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any, Final

from hapgpu.cli.bench.table import percent
from hapgpu.cli.terminal.work import short_number
from hapgpu.errors import UsageError
from hapgpu.io.files.output import OutputFile
from hapgpu.report.charts import COLOURS, svg

_WIDTH: Final = 420
_STEP: Final = 20
_LIMIT_COLOUR: Final = "#222222"
_MAX_LINEAR: Final = 50
"""Largest ratio of rates of which the lower is still seen on a linear axis."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A measurement in a plot.

    Attributes
    ----------
    name
        What was measured.
    device
        On which device.
    rate
        Units per second.
    unit
        The unit; the bars of a unit share an axis.
    bound, busy
        Of a whole run, the stage that bounds it, and the fraction of the run for which this stage
        was busy: see `WholeRun`.
    share
        Of a whole run, its rate as a fraction of a rate of the same plot.
    """

    name: str
    device: str
    rate: float
    unit: str
    bound: str | None = None
    busy: float | None = None
    share: float | None = None

    @property
    def limit(self) -> float | None:
        """The rate of a whole run if the stage that bounds it were always busy."""
        return self.rate / self.busy if self.busy else None

    @property
    def note(self) -> str:
        """What is known of the bound, in words."""
        if self.bound is None:
            return ""
        reached = f", {percent(self.share)} % reached" if self.share is not None else ""
        return f"bound: {self.bound}, {percent(self.busy)} % busy{reached}"


def require_plots() -> None:
    """Check, before anything is measured, that plots can be drawn.

    Raises
    ------
    UsageError
        The package that draws them is missing.
    """
    if util.find_spec("vl_convert") is None:
        raise UsageError("--plot: needs vl-convert-python; run: pip install 'hapgpu[report]'")


def write_plot(path: Path, title: str, bars: Sequence[Bar]) -> None:
    """Write a plot as SVG, whole or not at all.

    Parameters
    ----------
    path
        The file; `-` is standard output.
    title
        Its heading.
    bars
        At least one.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    drawn = svg(plot_of(title, bars), _WIDTH)
    with OutputFile(path) as output:
        output.write(drawn.encode())


def plot_of(title: str, bars: Sequence[Bar]) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot, one panel per unit."""
    units = dict.fromkeys(bar.unit for bar in bars)
    limited = "Line: the rate if the stage that bounds a whole run were always busy."
    subtitle = [limited] if any(bar.limit for bar in bars) else []
    return {
        "title": {"text": title, "subtitle": subtitle, "anchor": "start"},
        "vconcat": [_panel(unit, [bar for bar in bars if bar.unit == unit]) for unit in units],
    }


def _panel(unit: str, bars: Sequence[Bar]) -> dict[str, Any]:
    """Return a row per measurement: its rate, its limit if known, and both in words."""
    rates = [bar.rate for bar in bars]
    is_log = max(rates) > _MAX_LINEAR * min(rates)
    values = [
        {
            "name": f"{number} {bar.name}",
            "device": bar.device,
            "rate": bar.rate,
            "limit": bar.limit,
            "end": max(bar.rate, bar.limit or 0),
            "words": "; ".join(filter(None, (short_number(bar.rate), bar.note))),
        }
        for number, bar in enumerate(bars)
    ]
    name = {
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
        **_along_x("rate"),
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
        "encoding": {"y": name},
        "layer": [
            # The length of a bar means nothing on a logarithmic axis.
            {
                "mark": {"type": "circle", "size": 90, "opacity": 1} if is_log else "bar",
                "encoding": {"x": rate, "color": devices},
            },
            {
                "transform": [{"filter": "datum.limit"}],
                "mark": tick,
                "encoding": {"x": _along_x("limit")},
            },
            {
                "mark": words,
                "encoding": {"x": _along_x("end"), "text": {"field": "words", "type": "nominal"}},
            },
        ],
    }


def _along_x(field: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative"}
