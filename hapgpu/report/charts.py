"""Charts in one style: Vega-Lite specifications, in a page or as SVG."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hapgpu.report.markup import script_json, text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification without `$schema`, `config` and width."""

COLOURS: Final = ("#3b82c4", "#e07b39", "#4ea36b", "#b35fb0", "#8a8f98", "#c9a227")
"""Colours of series, readable on white and on dark grounds."""

CHART_SCRIPTS: Final = frozenset({"vega"})
"""`Section.scripts` of a section with charts."""

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_HEIGHT: Final = 220
_BAR_HEIGHT: Final = 24
_MIN_PREFIXED: Final = 10_000


def figure(title: str, spec: Spec, note: str = "", *, wide: bool = False) -> str:
    """Return a chart of the page as HTML; its width is the width of its place.

    Parameters
    ----------
    title
        Heading, plain text.
    spec
        The chart.
    note
        Line below it, plain text.
    wide
        Whether it takes the whole width of the page.
    """
    below = f"<p>{text(note)}</p>" if note else ""
    return (
        f"<figure{' class=wide' if wide else ''}><h3>{text(title)}</h3>"
        f'<div class="chart" role="img" aria-label="{text(title)}"></div>'
        f'<script type="application/json" class="spec">{script_json(spec)}</script>'
        f"{below}</figure>\n"
    )


def sentence(title: str, words: str) -> str:
    """Return what stands for a chart that would have one bar, as HTML; both are plain text."""
    return f"<p><b>{text(title)}:</b> {text(words)}.</p>\n"


def figures(charts: Sequence[str], *, small: bool = False) -> str:
    """Return charts of `figure` beside each other, as many as fit; sentences below them."""
    return f'<div class="charts{" small" if small else ""}">\n{"".join(charts)}</div>\n'


def svg(spec: Spec, width: int = 640) -> str:
    """Return a chart as the text of an SVG file, with black text on white.

    Parameters
    ----------
    spec
        The chart.
    width
        Width of the plot without its axes, in pixels.
    """
    import vl_convert  # noqa: PLC0415  (optional)

    whole = {"$schema": _SCHEMA, "width": width, "background": "white", **spec}
    whole["config"] = {**_config(), **spec.get("config", {})}
    return str(vl_convert.vegalite_to_svg(json.dumps(whole, allow_nan=False)))


@cache
def _config() -> Spec:
    """Return the style, which the script of the page uses, too."""
    source = (resources.files("hapgpu.report") / "chart_config.json").read_text(encoding="utf-8")
    config: Spec = json.loads(source)
    return config


def histogram(
    counts: NDArray[np.int64],
    edges: NDArray[np.float64] | NDArray[np.int64],
    x: str,
    y: str,
    *,
    x_format: str = "",
    log: bool = False,
) -> Spec:
    """Return a histogram of counted values.

    Parameters
    ----------
    counts
        int64[n]: values of each bin.
    edges
        int64[n + 1] or float64[n + 1]: the first value of each bin, and the end of the last.
    x, y
        Titles of the axes, with units.
    x_format
        d3 format of the values, such as `.1%`.
    log
        Whether `edges` rise by a factor: the axis is logarithmic.
    """
    (used,) = counts.nonzero()
    values = [
        {"start": float(edges[k]), "end": float(edges[k + 1]), "count": int(counts[k])}
        for k in used
    ]
    scale: Spec = {"zero": False, "nice": not used.size}
    if log:
        scale = {"type": "log", "nice": False}
        x_format = x_format or "~s"
    if len(edges) > 1 and not log:
        scale["domain"] = [float(edges[0]), float(edges[-1])]
    axis: Spec = {"format": x_format} if x_format else {}
    end = {
        "field": "end",
        "type": "quantitative",
        "title": "to (below)",
        "format": x_format or "~s",
    }
    return {
        "data": {"values": values},
        "height": _HEIGHT,
        "mark": {"type": "rect", "color": COLOURS[0]},
        "encoding": {
            "x": {
                "field": "start",
                "type": "quantitative",
                "title": x,
                "scale": scale,
                "axis": axis,
            },
            "x2": {"field": "end"},
            "y": {
                "field": "count",
                "type": "quantitative",
                "title": y,
                "scale": {"zero": True},
                "axis": {"format": _format(counts.max(initial=0)), "tickMinStep": 1},
            },
            "y2": {"datum": 0},
            "tooltip": [
                {**end, "field": "start", "title": "from"},
                end,
                {"field": "count", "type": "quantitative", "title": y, "format": ","},
            ],
        },
    }


def bars_figure(title: str, numbers: Mapping[str, int], x: str, note: str = "") -> str:
    """Return bars with their heading, as HTML; a sentence for a single bar."""
    if len(numbers) == 1:
        ((name, number),) = numbers.items()
        return sentence(title, f"{name}, {number:,} {x}")
    return figure(title, bars(numbers, x), note)


def bars(
    numbers: Mapping[str, float] | Mapping[str, int],
    x: str,
    tooltip: str = ",",
    colours: Mapping[str, str] | None = None,
) -> Spec:
    """Return horizontal bars, one per name, in the order given.

    Parameters
    ----------
    numbers
        The length of each bar, by its name.
    x
        Title of the axis, with its unit.
    tooltip
        d3 format of the numbers.
    colours
        Colour of some bars, by name.
    """
    chosen = colours or {}
    values = [
        {"name": name, "number": float(number), "colour": chosen.get(name, COLOURS[0])}
        for name, number in numbers.items()
    ]
    return {
        "data": {"values": values},
        "height": _BAR_HEIGHT * max(len(values), 1),
        "mark": {"type": "bar"},
        "encoding": {
            "y": {
                "field": "name",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 150},
            },
            "x": {
                "field": "number",
                "type": "quantitative",
                "title": x,
                # Vega's stacks fail for names such as `constructor`; each name has one bar.
                "stack": None,
                "axis": {"format": _format(max(numbers.values(), default=0))},
            },
            "color": {"field": "colour", "type": "nominal", "scale": None},
            "tooltip": [
                {"field": "name", "type": "nominal", "title": "name"},
                {"field": "number", "type": "quantitative", "title": x, "format": tooltip},
            ],
        },
    }


def _format(largest: float) -> str:
    """Return the d3 format of an axis of numbers: 25k, but 0.025 and not 25m."""
    return "~s" if largest >= _MIN_PREFIXED else ",~f"
