"""Run statistics as the numbers that MultiQC shows."""

from __future__ import annotations

import json

import pytest

from hapgpu.report.multiqc_summaries import RunSummary, StatisticsError, parse_statistics
from hapgpu.runtime.statistics import RunStatistics


def summary_of(command: str, **counts: int) -> RunSummary:
    statistics = RunStatistics(command, ["hapgpu", command], ["CPU, 2 threads"], 2)
    for name, number in counts.items():
        statistics.count(name, number)
    return parse_statistics(json.dumps(statistics.as_dict()))


def test_compiling_is_in_no_rate() -> None:
    run = RunSummary("map", "0.1.0", (), {"reads": 100}, {"compile": 3.0, "map": 1.0, "total": 5.0})
    assert run.rate == 50
    assert run.stages == {"compile": 3.0, "map": 1.0}


def test_outcomes_of_each_command() -> None:
    moved = summary_of("realign", reads=100, at_loci=40, realigned=10, records=120)
    assert moved.outcomes == {
        "realigned": 10,
        "unchanged": 30,
        "without a candidate haplotype": 60,
    }
    assert moved.success == 10
    aligned = summary_of("realign", reads=10, unmapped=1, without_bases=1, records=9)
    assert aligned.outcomes == {"aligned": 8, "unmapped": 1, "not written": 1}
    assert aligned.success == 80
    compared = summary_of("pairhmm", reads=10, unmapped=3, spliced=2, without_bases=1)
    assert compared.outcomes == {"unmapped": 3, "spliced": 2, "without bases": 1, "other": 4}
    used = summary_of("haplotypes", records=5, telomere_records=1, records_without_alt=1, sites=3)
    assert used.outcomes == {"used": 3, "at a telomere": 1, "without ALT": 1}
    assert used.success is None
    called = summary_of("genotype", sites=4, calls=3, no_calls=1)
    assert called.outcomes == {"called": 3, "missing": 1}
    assert called.success == 75
    mapped = summary_of("map", reads=10, mapped=7, too_short=1)
    assert mapped.outcomes == {"mapped": 7, "unmapped": 2, "too short": 1}
    assert summary_of("chain", reads=4, mapped=4).outcomes == {"mapped": 4}
    assert summary_of("index", bases=1000).outcomes == {}
    assert summary_of("call", bases=1000, records=1).outcomes == {}


def summary_with(command: str, counts: dict[str, int], seconds: dict[str, float]) -> RunSummary:
    statistics = RunStatistics(command, ["hapgpu", command], ["CPU"], 1).as_dict()
    return parse_statistics(json.dumps({**statistics, "counts": counts, "seconds": seconds}))


def test_rate_is_of_the_whole_run() -> None:
    seconds = {"build": 1.5, "write": 0.5, "total": 4}
    run = summary_with("index", {"contigs": 1, "bases": 1000}, seconds)
    assert (run.amount, run.rate) == (1000, 250)
    assert run.stages == {"build": 1.5, "write": 0.5}


def test_bases_without_reads_do_not_count() -> None:
    counts = {"bases": 1_000_000, "covered_bases": 1000}
    run = summary_with("call", counts, {"total": 4})
    assert (run.amount, run.rate) == (1000, 250)
    assert summary_with("call", {**counts, "covered_bases": 0}, {"total": 4}).rate == 0


def test_stages_add_up() -> None:
    seconds = {"read": 1.0, "pairhmm": 2.0, "genotype": 5.0, "write": 0.5, "total": 6.0}
    stages = summary_with("genotype", {"sites": 1}, seconds).stages
    assert stages == {"read": 1.0, "pairhmm": 2.0, "other genotyping": 3.0, "write": 0.5}


def test_a_run_without_stages_shows_its_wall_time() -> None:
    assert list(summary_of("haplotypes", sites=1).stages) == ["total"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tool": "other"}, "not the statistics of a run"),
        ({"schema_version": 1}, "schema_version is not 2"),
        ({"command": "bench"}, "unknown command"),
        ({"command": ["map"]}, "unknown command"),
        ({"seconds": {}}, r"without seconds\.total"),
        ({"counts": [1]}, "without counts"),
        ({"counts": {"reads": "many"}}, r"counts\.reads is not a number"),
        ({"counts": {"reads": -1}}, r"counts\.reads is not a number"),
        ({"counts": {"reads": 10**400}}, r"counts\.reads is not a number"),
        ({"seconds": {"total": float("nan")}}, r"seconds\.total is not a number"),
    ],
)
def test_other_files_are_refused(change: dict[str, object], message: str) -> None:
    statistics = RunStatistics("map", ["hapgpu", "map"], ["CPU"], 1).as_dict()
    with pytest.raises(StatisticsError, match=message):
        parse_statistics(json.dumps({**statistics, **change}))


@pytest.mark.parametrize("text", ["", "[", "[1]", '"hapgpu"', "[" * 100_000])
def test_damaged_files_are_refused(text: str) -> None:
    with pytest.raises(StatisticsError):
        parse_statistics(text)


def test_text_can_be_written() -> None:
    statistics = RunStatistics("map", ["hapgpu", "map"], ["\ud800"], 1).as_dict()
    strange = {"version": "\udcff", "seconds": {"\ud800": 1, "total": 1}}
    run = parse_statistics(json.dumps({**statistics, **strange}))
    assert (run.version, run.devices, list(run.seconds)) == ("?", ("?",), ["?", "total"])
