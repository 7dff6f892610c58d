#!/usr/bin/env python3
"""Draw the charts of `docs/performance.md` from its tables: `gpu-gain.svg` and `threads.svg`.

Run it after a figure of these tables changes: `python docs/images/make_charts.py docs/images`. It
needs the packages of `hapgpu[report]`.
"""

from __future__ import annotations

import argparse
import re
from itertools import dropwhile, takewhile
from pathlib import Path

from hapgpu.report.charts import COLOURS, Spec, svg

PAGE = Path(__file__).resolve().parent.parent / "performance.md"
GAINS, THREADS = "## What a GPU gains", "## CPU threads"
NO_GPU = "none"
NUMBER = re.compile(r"\d+(\.\d+)?")
PLOT_WIDTH = 210  # with its labels, a chart has the width of a phone
PADDING = {"left": 8, "top": 8, "right": 20, "bottom": 8}  # browsers have wider fonts
ENLARGED = 1.4  # on wide screens; pages shrink a picture to their width
STYLE = """<style>
text { fill: #5b6470 }
@media (prefers-color-scheme: dark) { text { fill: #b4bcc8 } }
</style>"""


def main() -> None:
    """Write the charts to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Draw the charts of docs/performance.md.")
    parser.add_argument("directory", type=Path, help="Where to write the charts.")
    directory = parser.parse_args().directory
    page = PAGE.read_text(encoding="utf-8")
    write(gain_chart(table(page, GAINS)), directory / "gpu-gain.svg")
    write(threads_chart(table(page, THREADS)), directory / "threads.svg")


def table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, as plain text, its names first."""
    below = page[page.index(heading) :]
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", below).replace("`", "")
    lines = dropwhile(lambda line: not line.startswith("|"), plain.splitlines())
    lines = takewhile(lambda line: line.startswith("|"), lines)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def gain_chart(rows: list[list[str]]) -> Spec:
    """Return bars: how many times as fast a command is with a GPU; 1 is no gain."""
    values = []
    command = ""
    for name, _, _, gain, data in rows[1:]:
        command = name or command
        size = data.partition(",")[0].removesuffix(" genome")
        label = command if name else f"{command}, {size}"
        if NUMBER.fullmatch(gain) or gain == NO_GPU:
            length = 1 if gain == NO_GPU else float(gain)
            values.append({"name": label, "gain": length, "label": gain})
    names = {"field": "name", "type": "nominal", "sort": None, "title": None}
    gains = {
        "field": "gain",
        "type": "quantitative",
        "title": "times as fast with one H200",
        "scale": {"domainMin": 0},
    }
    rows_of_bars = {"y": {**names, "axis": {"labelLimit": 160, "minExtent": 122}}, "x": gains}
    return {
        "data": {"values": values},
        "height": {"step": 24},
        "layer": [
            {"mark": {"type": "bar", "color": COLOURS[0]}, "encoding": rows_of_bars},
            {
                "mark": {"type": "rule", "strokeDash": [4, 4], "color": COLOURS[4]},
                "encoding": {"x": {"datum": 1}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {**rows_of_bars, "text": {"field": "label"}},
            },
        ],
    }


def threads_chart(rows: list[list[str]]) -> Spec:
    """Return lines: the speed-up of each command by threads, and the ideal."""
    counts = [int(cell) for cell in rows[0][1:-1]]
    values = [
        {"name": name, "threads": count, "speed-up": float(seconds[0]) / float(cell)}
        for name, *seconds, _ in rows[1:]
        for count, cell in zip(counts, seconds, strict=True)
    ]
    axis = {"type": "quantitative", "scale": {"type": "log", "base": 2}, "axis": {"values": counts}}
    threads = {"field": "threads", **axis, "title": "CPU threads"}
    speed_up = {"field": "speed-up", **axis, "title": "times as fast as one thread"}
    series = {"field": "name", "type": "nominal", "title": None, "sort": None}
    return {
        "height": 220,
        "layer": [
            {
                "data": {"values": [{"threads": n, "speed-up": n} for n in counts]},
                "mark": {"type": "line", "strokeDash": [4, 4], "color": COLOURS[4]},
                "encoding": {"x": threads, "y": speed_up},
            },
            {
                "data": {"values": values},
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": threads,
                    "y": speed_up,
                    "color": {**series, "scale": {"range": list(COLOURS)}},
                },
            },
        ],
    }


def write(spec: Spec, picture: Path) -> None:
    """Write a chart that is read on light and dark grounds."""
    drawn = svg({"background": "transparent", "padding": PADDING, **spec}, PLOT_WIDTH)
    opening, _, content = drawn.partition(">")
    larger = re.sub(
        r' (width|height)="([\d.]+)"',
        lambda size: f' {size[1]}="{float(size[2]) * ENLARGED:.0f}"',
        opening,
    )
    picture.write_text(f"{larger}>{STYLE}{content}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
