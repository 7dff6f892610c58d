"""Files of run statistics: what is accepted, and what is computed from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hapgpu.errors import InputError
from hapgpu.report.page import SectionOptions
from hapgpu.report.runs import RunRecord, read_statistics, run_section

OPTIONS = SectionOptions(
    reads=(), reference=None, threads=1, max_record=1 << 20, advance=lambda _: None
)

RUN: dict[str, Any] = {
    "schema_version": 2,
    "tool": "hapgpu",
    "version": "0.1.0",
    "command": "map",
    "command_line": ["hapgpu", "map"],
    "devices": ["CPU, 4 threads"],
    "threads": 4,
    "counts": {"reads": 100},
    "seconds": {"read": 1.0, "map": 6.0, "total": 2.0},
    "stage_threads": {"read": 1, "map": 4},
}


def test_busy_stages(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RUN), encoding="utf-8")
    found = read_statistics(path, 10_000)
    assert isinstance(found, RunRecord)
    assert found.busy() == {"read": 0.5, "map": 0.75}
    assert found.total == 2


def test_compiling_is_not_work(tmp_path: Path) -> None:
    """The stage of a first run that compiles is no busy stage, and in no rate."""
    path = tmp_path / "run.json"
    run = {**RUN, "seconds": {**RUN["seconds"], "compile": 1.5, "total": 3.5}}
    path.write_text(json.dumps(run), encoding="utf-8")
    found = read_statistics(path, 10_000)
    assert isinstance(found, RunRecord)
    assert found.compiling == 1.5
    assert found.busy() == {"read": 0.5, "map": 0.75}
    assert found.rates() == {"reads": 50}
    html = run_section(path, "f", OPTIONS).html
    assert "<dt>wall time</dt><dd>3.50 s</dd>" in html
    assert "<dt>compiling</dt><dd>1.50 s</dd>" in html
    run["seconds"] = {"compile": 3.5, "total": 3.5}
    path.write_text(json.dumps(run), encoding="utf-8")
    assert "bound by" not in run_section(path, "f", OPTIONS).html


def test_rates(tmp_path: Path) -> None:
    """Bases of a call have no rate, as many may have no reads; bases of other commands have one."""
    path = tmp_path / "run.json"
    counts = {"bases": 63_000_000, "records": 0}
    for command, more, rates in (
        ("call", {"covered_bases": 50_000}, {"covered_bases": 25_000}),
        ("call", {"covered_bases": 0}, {}),
        ("index", {}, {"bases": 31_500_000}),
    ):
        run = {**RUN, "command": command, "counts": {**counts, **more}}
        path.write_text(json.dumps(run), encoding="utf-8")
        found = read_statistics(path, 10_000)
        assert isinstance(found, RunRecord)
        assert found.rates() == rates


def test_measurements(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text('[{"task": "align", "pairs": 5, "seconds": 0.5}]', encoding="utf-8")
    assert read_statistics(path, 10_000) == [{"task": "align", "pairs": 5, "seconds": 0.5}]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '[{"seconds": "1"}]',
        '[{"seconds": NaN}]',
        "{}",
        json.dumps({**RUN, "counts": {"reads": "many"}}),
        json.dumps({**RUN, "seconds": {"read": -1}}),
        json.dumps({**RUN, "stage_threads": []}),
        json.dumps({**RUN, "tool": "other"}),
        "[" * 100_000,
    ],
)
def test_other_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"run\.json: .*; give a file that --json of hapgpu wrote"):
        read_statistics(path, 1 << 20)
