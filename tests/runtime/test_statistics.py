"""Run statistics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import hapgpu
from hapgpu.errors import OutputError
from hapgpu.io.files.text_output import write_json
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.statistics import RunStatistics, busy_fractions, working_seconds


def test_statistics_of_a_pipeline(tmp_path: Path) -> None:
    stats = RunStatistics("realign", ["hapgpu", "realign", "x.bam"], ["cpu"], 2)

    def write(batch: int) -> int:
        stats.count("reads", batch)
        stats.count("batches", 1)
        return batch

    run_pipeline(
        stats.timed_source("read", range(5)),
        [stats.timed("align", abs)] * 2,
        stats.timed("write", write),
    )
    path = tmp_path / "run.json"
    write_json(path, stats.as_dict())
    written = json.loads(path.read_text())
    seconds = written.pop("seconds")
    threads = written.pop("stage_threads")
    assert threads.pop("align") in {1, 2}
    assert threads == {"read": 1, "write": 1}
    assert set(seconds) == {"read", "align", "write", "total"}
    assert all(0 <= spent <= 2 * seconds["total"] for spent in seconds.values())
    assert written == {
        "schema_version": 2,
        "tool": "hapgpu",
        "version": hapgpu.__version__,
        "command": "realign",
        "command_line": ["hapgpu", "realign", "x.bam"],
        "devices": ["cpu"],
        "threads": 2,
        "counts": {"reads": 10, "batches": 5},
    }


def test_a_description_is_stored_beside_the_counts() -> None:
    stats = RunStatistics("chain", [], [], 1)
    stats.count("anchors", 3)
    stats.describe("ranges", {"mean": 1.5})
    stats.describe("ranges", {"mean": 2.5, "histogram": {"0": 1}})
    result = stats.as_dict()
    assert result["counts"] == {"anchors": 3}
    assert result["ranges"] == {"mean": 2.5, "histogram": {"0": 1}}


def test_time_of_a_failing_stage_is_counted() -> None:
    stats = RunStatistics("realign", [], [], 1)
    with pytest.raises(ZeroDivisionError):
        stats.timed("align", lambda value: 1 // value)(0)
    assert "align" in str(stats.as_dict())


def test_unwritable_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "run.json"
    with pytest.raises(OutputError, match=re.escape(f"{path}: cannot be written (No such file")):
        write_json(path, RunStatistics("realign", [], [], 1).as_dict())


def test_compiling_is_in_no_rate() -> None:
    seconds = {"compile": 3.0, "map": 2.0, "total": 5.0}
    statistics = {"seconds": seconds, "stage_threads": {"compile": 1, "map": 2}}
    assert working_seconds(statistics) == 2
    assert busy_fractions(statistics) == {"map": 0.5}
