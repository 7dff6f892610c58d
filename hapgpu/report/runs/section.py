"""Section of run statistics: stages, rates, and measurements of `hapgpu bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from hapgpu.report.charts import CHART_SCRIPTS, COLOURS, bars, figure, figures
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
from hapgpu.report.runs.statistics import SHORTEST, RunRecord, is_number, read_statistics
from hapgpu.report.tables import facts, table

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
    chart = bars(labelled, "busy (% of the run, per thread)", ".1f", _marked(names[bound]))
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


def _bench(lines: list[dict[str, Any]]) -> str:
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


def _cell(value: Any) -> object:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else value
