"""Section of run statistics, `--json` of all commands and of `hapgpu bench`.

The files are checked: any program may have written them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, TypeAlias, TypeGuard

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import too_long
from hapgpu.report.charts import CHART_SCRIPTS, COLOURS, bars, figure, figures
from hapgpu.report.markup import facts, table
from hapgpu.report.page import Section, SectionOptions
from hapgpu.runtime.statistics import COMPILE, TOTAL

Line: TypeAlias = dict[str, Any]
"""A measurement of `hapgpu bench`, as `--json` writes it."""

SHORTEST: Final = 1e-9
"""Seconds below which a time is no divisor."""

_REMEDY: Final = "give a file that --json of hapgpu wrote"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The statistics of a run, as docs/json.md describes them.

    Attributes
    ----------
    about
        Texts by name: command, version, devices, threads, command line.
    counts, seconds, threads
        Numbers by name; `seconds` without `total` and `compile`.
    total
        Wall time in seconds.
    compiling
        Seconds of it for which functions were compiled, before the work.
    """

    about: Mapping[str, str]
    counts: Mapping[str, float]
    seconds: Mapping[str, float]
    threads: Mapping[str, float]
    total: float
    compiling: float

    @property
    def working(self) -> float:
        """Seconds of the run without compiling."""
        return max(self.total - self.compiling, 0.0)

    def busy(self) -> dict[str, float]:
        """Return the fraction of the work for which the threads of each stage were busy."""
        return {
            name: seconds / max(self.threads.get(name, 1), 1) / self.working
            for name, seconds in self.seconds.items()
            if self.working >= SHORTEST
        }

    def rates(self) -> dict[str, float]:
        """Return counts per second of work, without those that are 0.

        `bases` of `call` have no rate: its time goes by its `covered_bases`.
        """
        skipped = {"bases"} if "covered_bases" in self.counts else set()
        return {
            name: number / self.working
            for name, number in self.counts.items()
            if number and name not in skipped and self.working >= SHORTEST
        }


def read_statistics(path: Path, max_record: int) -> RunRecord | list[Line]:
    """Read the statistics of a run, or the measurements of `hapgpu bench`.

    Raises
    ------
    InputError
        The file is not JSON, or has other content.
    """
    with open_inflated(path, str(path)) as stream:
        data = stream.read(max_record + 1)
    if len(data) > max_record:
        raise too_long(str(path), max_record)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); {_REMEDY}") from error
    if isinstance(found, list):
        if all(isinstance(line, dict) and is_number(line.get("seconds")) for line in found):
            return found
        raise InputError(f"{path}: measurements without seconds; {_REMEDY}")
    return _run_of(path, found)


def _run_of(path: Path, found: Any) -> RunRecord:
    tables = [found.get(name) for name in ("counts", "seconds", "stage_threads")]
    if found.get("tool") != "hapgpu" or not all(map(_holds_numbers, tables)):
        raise InputError(f"{path}: no statistics of a run of hapgpu; {_REMEDY}")
    counts, seconds, threads = tables
    stages = {name: number for name, number in seconds.items() if name not in {TOTAL, COMPILE}}
    about = {
        "command": str(found.get("command", "")),
        "version": str(found.get("version", "")),
        "devices": ", ".join(map(str, _list_of(found.get("devices")))),
        "threads": str(found.get("threads", "")),
        "command line": _command_line(_list_of(found.get("command_line"))),
    }
    return RunRecord(about, counts, stages, threads, seconds.get(TOTAL, 0), seconds.get(COMPILE, 0))


def _command_line(words: list[object]) -> str:
    """Return a command line without the directory of its program."""
    return " ".join([PurePath(str(word)).name for word in words[:1]] + list(map(str, words[1:])))


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _holds_numbers(table: object) -> bool:
    return isinstance(table, dict) and all(map(is_number, table.values()))


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value of JSON is a number that statistics may have."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 2**63
        and math.isfinite(value)
    )


_MAX_LINES: Final = 200
_MIN_WHOLE: Final = 10
_AMOUNTS: Final = ("cells", "pairs", "reads", "hits", "sites", "count")
"""Keys of amounts in measurements, the most specific first."""


def run_section(path: Path, identifier: str, options: SectionOptions) -> Section:
    """Show the statistics of a run, or the measurements of `hapgpu bench`.

    Raises
    ------
    InputError
        The file is not JSON, or has other content.
    """
    found = read_statistics(path, options.max_record)
    html = _run(found) if isinstance(found, RunRecord) else _bench(found)
    options.advance(1)
    return Section(path.name, identifier, html, CHART_SCRIPTS)


def _run(run: RunRecord) -> str:
    about = [(name, value) for name, value in run.about.items() if value]
    shown: dict[str, object] = {"wall time": f"{run.total:,.2f} s"}
    if run.compiling:
        shown |= {
            "compiling": f"{run.compiling:,.2f} s",
            "without compiling": f"{run.working:,.2f} s",
        }
    busy = run.busy()
    charts = []
    if busy:
        bound = max(busy, key=lambda name: busy[name])
        shown["bound by"] = f"{bound}, busy {_percent(busy[bound])}"
        charts = [_seconds(run, bound), _busy(run, busy, bound)]
    rates = run.rates()
    rows = [(name, _whole(n), _rate(rates.get(name, 0))) for name, n in run.counts.items()]
    return (
        facts(shown)
        + table(("run", ""), about)
        + figures(charts)
        + "<h3>Counts and rates</h3>\n"
        + table(("count", "number", "per second"), rows)
    )


def _seconds(run: RunRecord, bound: str) -> str:
    chart = bars(run.seconds, "seconds, summed over threads", ",.3f", _marked(bound))
    return figure("Time of stages", chart, "Stages run at the same time.")


def _busy(run: RunRecord, busy: dict[str, float], bound: str) -> str:
    names = {name: f"{name} ({_threads(run, name)})" for name in busy}
    labelled = {names[name]: 100 * fraction for name, fraction in busy.items()}
    whole = "time without compiling" if run.compiling else "run"
    chart = bars(labelled, f"busy (% of the {whole}, per thread)", ".1f", _marked(names[bound]))
    return figure("Busy stages", chart, "The stage that was busy longest bounds the run.")


def _threads(run: RunRecord, name: str) -> str:
    number = _whole(run.threads.get(name, 1))
    return "1 thread" if number == 1 else f"{number} threads"


def _marked(name: str) -> dict[str, str]:
    return {name: COLOURS[1]}


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f}%" if fraction >= _MIN_WHOLE / 100 else f"{100 * fraction:.1f}%"


def _rate(rate: float) -> str:
    if not rate:
        return "-"
    return f"{rate:,.0f}" if rate >= _MIN_WHOLE else f"{rate:.2f}"


def _whole(number: float) -> object:
    return int(number) if number == int(number) else number


def _bench(lines: list[Line]) -> str:
    if not lines:
        return "<p>The file has no measurements.</p>\n"
    lines = lines[:_MAX_LINES]
    rates: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, 1):
        amount = next((key for key in _AMOUNTS if is_number(line.get(key))), None)
        if amount and line["seconds"] >= SHORTEST:
            unit = str(line.get("unit", amount)) if amount == "count" else amount
            words = [str(line[key]) for key in ("task", "data", "device") if line.get(key)]
            name = f"{number}. {', '.join(words)}"
            rates.setdefault(unit, {})[name] = line[amount] / line["seconds"]
    charts = [
        figure(f"{unit} per second", bars(numbers, f"{unit} per second", ",.3s"), wide=True)
        for unit, numbers in rates.items()
    ]
    keys = list(dict.fromkeys(key for line in lines for key in line))
    rows = [[_cell(line.get(key)) for key in keys] for line in lines]
    return figures(charts) + table(keys, rows)


def _cell(value: object) -> object:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else value
