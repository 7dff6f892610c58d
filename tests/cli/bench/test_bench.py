"""`hapgpu bench` from end to end, on data too small to measure anything."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hapgpu.benchmark import input_files, io, mapping, pairhmm, realign
from hapgpu.benchmark.alignments import ALIGN_STAGES
from hapgpu.benchmark.stages import STAGES
from hapgpu.cli.catalogue import METHODS
from tests.cli.in_process import status_of_command

BOUND = ["bound", "% busy"]
REACHED = [*BOUND, "% reached"]
COLUMNS = ["device", "task", "data", "cells", "seconds", "GCUPS", *REACHED]
REGIONS = "2 1\nACGT IIII NNNN NNNN ++++\nAC II NN NN ++\nACGTAC\n"
CELLS = 6 * 6

MAP_COLUMNS = ["device", "task", "data", "reads", "hits", "seconds", "M reads/s", *REACHED]
GENOME = "TTGACCTAGGACATCAGCATTACGGATCCAGTCAAGT"
READS = {
    "exact": GENOME[5:30],
    "mismatch": f"{GENOME[5:15]}{'A' if GENOME[15] != 'A' else 'C'}{GENOME[16:30]}",
    "no_hit": "ACACACACACACACACACAC",
}
HITS = 2
RESULTS = 4
"""Of backtracking: the exact read, the same without its first or last base, and the
read with a mismatch."""

REALIGN_COLUMNS = ["device", "task", "data", "pairs/s", "GCUPS", "effective GCUPS"]
REALIGN_COLUMNS += ["% in matrices", *REACHED]

CHAIN_COLUMNS = ["device", "task", "data", "count", "unit", "seconds", "M/s", *REACHED]
LONG_GENOME = 30_000
TILE = 6000

GENOTYPE_COLUMNS = ["device", "data", "sites", "reads", "cells", "seconds", "sites/s", "reads/s"]
GENOTYPE_COLUMNS += ["GCUPS", "% wrong", "% kernels", *BOUND]

CALL_COLUMNS = ["device", "task", "data", "bases", "reads", "active regions", "cells"]
CALL_COLUMNS += ["regions/Mb", "haplotypes/Mb", "cells/Mb", "host regions", "seconds", "Mb/s"]
CALL_COLUMNS += ["reads/s", "GCUPS", "% of stages", "% kernels", "% recall", "% precision", *BOUND]


def assert_bound(row: list[str], line: dict[str, Any], stages: set[str]) -> None:
    """Check the last fields of a row, which only a whole run has."""
    if "share" in line:
        *row, reached = row
        share = line["share"]
        assert reached == ("-" if share is None else f"{100 * share:.0f}")
        assert (share is not None) == line["task"].startswith("whole run")
    if not line.get("task", "whole run").startswith("whole run"):
        assert row[-2:] == ["-", "-"]
        assert (line["bound"], line["busy"]) == (None, None)
        return
    assert row[-2] == line["bound"]
    assert row[-2] in stages
    assert 0 < line["busy"] <= 1.01
    assert row[-1] == f"{100 * line['busy']:.0f}"


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("bench", *arguments)


@pytest.fixture
def regions(tmp_path: Path) -> Path:
    path = tmp_path / "regions.in"
    path.write_text(REGIONS)
    return path


@pytest.fixture
def genome(tmp_path: Path) -> Path:
    path = tmp_path / "genome.fa"
    path.write_text(f">genome\n{GENOME}\n")
    return path


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    path = tmp_path / "reads.fq"
    path.write_text(
        "".join(f"@{name}\n{read}\n+\n{'I' * len(read)}\n" for name, read in READS.items())
    )
    return path


@pytest.fixture
def long_genome(tmp_path: Path) -> Path:
    path = tmp_path / "long.fa"
    letters = np.random.default_rng(4).choice(list("ACGT"), LONG_GENOME)
    path.write_text(f">long\n{''.join(letters)}\n")
    return path


@pytest.fixture
def anchors(tmp_path: Path) -> Path:
    """Ten anchors of one read, a base apart."""
    path = tmp_path / "anchors.npz"
    positions = np.arange(50, 60, dtype=np.uint64)
    np.savez(path, x=positions, y=np.uint64(15 << 32) | positions, offsets=np.array([0, 10]))
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_regions_of_a_file(
    regions: Path, tmp_path: Path, threads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    arguments = ("--batches", regions, "--copies", "7", "--device", "cpu", "-t", str(threads))
    assert status_of("pairhmm", *arguments, "--json", statistics) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == COLUMNS
    devices = ["CPU, 1 thread", "CPU, 2 threads"][:threads]
    assert [row[0] for row in rows] == [*devices, devices[-1]]
    assert [row[1] for row in rows] == [*(["whole call"] * threads), "whole run"]
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert row[2] == "regions.in x7"
        assert_bound(row, line, {"read", "pairhmm", "write"})
        assert int(row[3]) == line["cells"] == 7 * CELLS
        assert float(row[4]) == pytest.approx(line["seconds"], rel=1e-3)
        assert float(row[5]) == pytest.approx(7 * CELLS / line["seconds"] / 1e9, rel=1e-3)


def test_one_copy_by_default(regions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("pairhmm", "--batches", regions, "--device", "cpu", "-t", "1") == 0
    *_, row = capsys.readouterr().out.splitlines()
    assert row.split("\t")[2:4] == ["regions.in x1", str(CELLS)]


def test_made_up_regions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pairhmm, "SHAPES", ((3, 5), (6, 4)))
    monkeypatch.setattr(pairhmm, "_CPU_CELLS", 50_000)
    monkeypatch.setattr(input_files, "_CPU_TILE", TILE)
    assert status_of("pairhmm", "--device", "cpu", "-t", "1") == 0
    header, *rows, whole = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == COLUMNS
    assert [(row[2], int(row[3])) for row in rows] == [
        ("3 x 5", 3 * 1024 * 15),
        ("6 x 4", 2 * 1024 * 24),
    ]
    assert whole[1:3] == ["whole run", f"{TILE:,} bases, 30x"]
    assert int(whole[3]) > 20 * TILE * 2 * 600


def test_realigning_a_sample(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(realign, "SHAPES", ((20, 30),))
    monkeypatch.setattr(realign, "_PADDED_LENGTH", 70)
    monkeypatch.setattr(realign, "_USUAL_SHAPE", (30, 60))
    monkeypatch.setattr(realign, "_CPU_CELLS", 60_000)
    monkeypatch.setattr(input_files, "_CPU_TILE", TILE)
    statistics = tmp_path / "bench.json"
    assert status_of("realign", "--device", "cpu", "-t", "1", "--json", statistics) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == REALIGN_COLUMNS
    cases = realign.align_cases()
    assert [row[1] for row in rows] == [*(["align", "score"] * len(cases)), "whole run"]
    assert [row[2] for row in rows[:-1:2]] == [case.data for case in cases]
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert_bound(row, line, {"read", "realign", "write"})
        assert row[3] == f"{line['pairs'] / line['seconds']:.0f}"
        assert row[5] == f"{line['effective_cells'] / line['seconds'] / 1e9:.2f}"
    *measured, whole = json.loads(statistics.read_text())
    for line in measured[:2]:  # each of these reads needs a matrix
        assert line["matrix_pairs"] == line["pairs"]
        assert line["cells"] > 0
    for line in measured[1:-2:2]:  # scores of reads: whole matrices
        cells = line["read_length"] * line["haplotype_length"]
        assert line["cells"] == cells * line["matrix_pairs"]
    assert (whole["read_length"], whole["haplotype_length"]) == (148, 600)
    assert rows[-1][4] == rows[-1][6] == "-"


@pytest.mark.parametrize("threads", [1, 2])
def test_mapping_reads_of_a_file(
    genome: Path, reads: Path, tmp_path: Path, threads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    files = ("--reference", genome, "--reads", reads, "--copies", "4")
    options = ("--device", "cpu", "-t", str(threads), "--json", statistics)
    assert status_of("map", *files, *options) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == MAP_COLUMNS
    assert [tuple(row[:2]) for row in rows] == [
        (device, step)
        for device in ("CPU, 1 thread", "CPU, 2 threads")[:threads]
        for step in ("pack and search", "text to text")
    ] + [(f"CPU, {threads} thread{'s' * (threads > 1)}", "whole run")]
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert row[2] == "genome.fa, reads.fq x4"
        assert_bound(row, line, {"index", "read", "map", "write"})
        assert int(row[3]) == line["reads"] == 4 * len(READS)
        assert int(row[4]) == line["hits"] == 4 * HITS
        assert float(row[5]) == pytest.approx(line["seconds"], rel=1e-3)
        assert float(row[6]) == pytest.approx(4e-6 * len(READS) / line["seconds"], rel=1e-3)


def test_backtracking_the_start_of_a_file(
    genome: Path,
    reads: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(mapping, "_CPU_BACKTRACKED_READS", 2 * len(READS))
    files = ("--reference", genome, "--reads", reads, "--copies", "4")
    options = ("--method", "backtracking", "--device", "cpu", "-t", "1")
    assert status_of("map", *files, *options) == 0
    _, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[1:5] for row in rows] == [
        ["pack and search", "genome.fa, reads.fq x4", str(2 * len(READS)), str(2 * RESULTS)]
    ]


def test_mapping_with_the_index_beside_the_reference(genome: Path, reads: Path) -> None:
    assert status_of_command("index", genome, "--device", "cpu", "-q") == 0
    files = ("--reference", genome, "--reads", reads)
    assert status_of("map", *files, "--device", "cpu", "-t", "1") == 0


def test_mapping_made_up_reads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mapping, "_RANDOM_BASES", 20_000)
    monkeypatch.setattr(mapping, "_CPU_READS", 300)
    assert status_of("map", "--device", "cpu", "-t", "1") == 0
    _, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[2:4] for row in rows] == [["random reference, simulated reads", "300"]] * 3


def test_chaining_simulated_reads(
    long_genome: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    reads = ("--bases", "100k", "--read-length", "2k", "--error", "0.05")
    options = ("-x", "map-hifi", "--device", "cpu", "-t", "1", "--json", statistics)
    assert status_of("chain", "--reference", long_genome, *reads, *options) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == CHAIN_COLUMNS
    chaining = ["index", "text to lines", *STAGES, "whole run"]
    alignment = ["text to SAM", *ALIGN_STAGES, "whole run, SAM"]
    assert [row[1] for row in rows] == [*chaining, *alignment]
    assert rows[0][2:4] == ["long.fa", str(LONG_GENOME)]
    assert {row[2] for row in rows[1:]} == {"long.fa, 2,000-base reads, 0.05 errors"}
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert row[0] == "CPU, 1 thread"
        assert (int(row[3]), row[4]) == (line["count"], "bases")
        assert_bound(row, line, {"index", "read", "chain", "align", "write"})
        assert float(row[5]) == pytest.approx(line["seconds"], rel=1e-3)
        assert float(row[6]) == pytest.approx(line["count"] / line["seconds"] / 1e6, rel=1e-3)


def test_chaining_anchors_of_a_file(anchors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--copies", "7", "--device", "cpu", "-t", "1")
    assert status_of("chain", "--anchors", anchors, *options) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == CHAIN_COLUMNS
    assert [row[1:5] for row in rows] == [
        ["scores, all predecessors", "anchors.npz x7", "70", "anchors"],
        ["scores, all predecessors", "anchors.npz x7", str(7 * 10 * 9 // 2), "pairs"],
        ["scores, skip 25", "anchors.npz x7", "70", "anchors"],
    ]


def test_genotyping_a_simulated_sample(
    long_genome: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    statistics = tmp_path / "bench.json"
    arguments = ("--reference", long_genome, "--device", "cpu", "--json", statistics)
    assert status_of("genotype", *arguments, "-t", "1") == 0
    [single] = json.loads(statistics.read_text())
    capsys.readouterr()
    assert status_of("genotype", *arguments, "-t", "2", "--copies", "3") == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == GENOTYPE_COLUMNS
    assert [row[:2] for row in rows] == [
        ["CPU, 1 thread", "long.fa x3, 30x"],
        ["CPU, 2 threads", "long.fa x3, 30x"],
    ]
    for row, line in zip(rows, json.loads(statistics.read_text()), strict=True):
        assert (int(row[2]), int(row[3])) == (3 * single["sites"], 3 * single["reads"])
        assert int(row[4]) == line["cells"] == 3 * single["cells"]
        assert float(row[5]) == pytest.approx(line["seconds"], rel=1e-3)
        assert float(row[7]) == pytest.approx(line["reads"] / line["seconds"], rel=1e-3)
        assert float(row[9]) < 5
        assert 0 <= float(row[10]) <= 100
        assert_bound(row, line, {"read", "genotype", "write"})
    assert not list(temporary.iterdir())


def test_help_lists_the_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("--help") == 0
    printed = capsys.readouterr().out
    assert all(f" {method} " in printed for method in METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_help_of_a_method_lists_its_options(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(method, "--help") == 0
    printed = capsys.readouterr().out
    assert ("--batches" in printed) == (method == "pairhmm")
    assert ("--reference" in printed) == (method in {"map", "chain", "genotype", "call"})
    assert "--device" in printed


def call_fields(printed: str) -> list[dict[str, str]]:
    """Return the lines of `bench call`, their fields by column."""
    header, *rows = [line.split("\t") for line in printed.splitlines()]
    assert header == CALL_COLUMNS
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_calling_a_sample(
    long_genome: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    options = ("--copies", "2", "--device", "cpu", "-t", "1", "--json", statistics)
    assert status_of("call", "--reference", long_genome, *options) == 0
    rows = call_fields(capsys.readouterr().out)
    lines = json.loads(statistics.read_text())
    for row, line in zip(rows, lines, strict=True):
        assert [*row.values()][:3] == ["CPU, 1 thread", line["task"], "long.fa x2, 30x"]
        assert [*row.values()][3:6] == [
            str(line[key]) for key in ("bases", "reads", "active_regions")
        ]
        assert row["cells"] == str(line["cells"] or "-")
        assert float(row["seconds"]) == pytest.approx(line["seconds"], rel=1e-3)
        rates = [line["bases"] / 1e6, line["reads"]] / np.float64(line["seconds"])
        shown = [float(row[column]) for column in ("Mb/s", "reads/s")]
        assert shown == pytest.approx(rates, rel=1e-3)
        assert_bound([*row.values()], line, {line["task"] for line in lines[1:]})
        assert (row["host regions"], row["% kernels"]) == ("-", "-")
        assert (line["host_regions"], line["kernel_fraction"]) == (None, None)
    with_cells = {row["cells"] for row in rows if row["task"] in {"whole run", "pairhmm"}}
    assert with_cells == {rows[0]["cells"]}
    assert [row["% of stages"] == "-" for row in rows] == [row["% recall"] != "-" for row in rows]
    assert [row["task"] for row in rows if row["% precision"] != "-"] == ["whole run"]


def test_numbers_per_megabase_are_of_the_whole_run(
    long_genome: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = tmp_path / "bench.json"
    options = ("--device", "cpu", "-t", "1", "--json", statistics)
    assert status_of("call", "--reference", long_genome, *options) == 0
    whole, *stages = call_fields(capsys.readouterr().out)
    line = json.loads(statistics.read_text())[0]
    for column, key in (
        ("regions/Mb", "active_regions"),
        ("haplotypes/Mb", "haplotypes"),
        ("cells/Mb", "cells"),
    ):
        assert line[key] > 0
        assert float(whole[column]) == pytest.approx(line[key] / (LONG_GENOME / 1e6), rel=1e-3)
        assert {row[column] for row in stages} == {"-"}


def test_calling_the_reads_of_a_region(
    long_genome: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = input_files.simulated_files(tmp_path, long_genome, 1, 1)
    region = "tiles:10,001-15,000"
    chosen = ("--bam", sample.reads, "--reference", sample.reference, "--region", region)
    options = ("--copies", "3", "--device", "cpu", "-t", "1")
    assert status_of("call", *chosen, *options) == 0
    whole, *stages = call_fields(capsys.readouterr().out)
    assert (whole["task"], whole["data"]) == ("whole run", f"reads.bam {region} x3")
    assert whole["bases"] == str(3 * 10_000)
    assert int(whole["reads"]) % 3 == 0
    assert (whole["% recall"], whole["% precision"]) == ("-", "-")
    assert {row["task"] for row in stages} > {"read", "pairhmm", "write"}


@pytest.mark.gpu
def test_regions_of_a_file_on_the_gpu(regions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("pairhmm", "--batches", regions, "--copies", "3", "--device", "cuda:0") == 0
    _, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert [row[1] for row in rows] == ["whole call", "whole run"]
    assert {tuple(row[2:4]) for row in rows} == {("regions.in x3", str(3 * CELLS))}


@pytest.mark.gpu
def test_made_up_regions_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pairhmm, "SHAPES", ((30, 50),))
    monkeypatch.setattr(pairhmm, "_GPU_CELLS", 1e7)
    monkeypatch.setattr(input_files, "_GPU_TILE", TILE)
    monkeypatch.setattr(input_files, "_GPU_COPIES", 1)
    assert status_of("pairhmm", "--device", "cuda:0") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in rows] == ["task", "kernels", "whole call", "whole run"]
    assert all(float(row[5]) > 0.0 for row in rows[1:])


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "fm",
            [("pack and search, kernels", HITS), ("text to text", HITS), ("whole run", HITS)],
        ),
        ("backtracking", [("pack and search, kernels", RESULTS)]),
    ],
)
def test_mapping_on_the_gpu(
    genome: Path,
    reads: Path,
    method: str,
    expected: list[tuple[str, int]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = ("--reference", genome, "--reads", reads, "--copies", "3")
    assert status_of("map", *files, "--method", method, "--device", "cuda:0") == 0
    _, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert [(row[1], int(row[3]), int(row[4])) for row in rows] == [
        (step, 3 * len(READS), 3 * hits) for step, hits in expected
    ]


@pytest.mark.gpu
def test_mapping_made_up_reads_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mapping, "_RANDOM_BASES", 50_000)
    monkeypatch.setattr(mapping, "_GPU_READS", 3000)
    assert status_of("map", "--device", "cuda:0") == 0
    _, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert [row[3] for row in rows] == ["3000"] * 3
    assert len({row[4] for row in rows}) == 1


@pytest.mark.gpu
def test_chaining_on_the_gpu(long_genome: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reads = ("--bases", "100k", "--read-length", "2k")
    assert status_of("chain", "--reference", long_genome, *reads, "--device", "cuda:0") == 0
    _, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    of_alignment = ["text to SAM", "whole run, SAM"]
    of_mapping = ["index", "text to lines", *STAGES, "whole run"]
    assert [row[1] for row in rows] == [*of_mapping, *of_alignment]
    assert all(row[0].startswith("cuda:0") for row in rows[1:])


@pytest.mark.gpu
def test_chaining_anchors_on_the_gpu(anchors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("chain", "--anchors", anchors, "--device", "cuda:0") == 0
    options = ("--method", "successor", "--device", "cuda:0")
    assert status_of("chain", "--anchors", anchors, *options) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in rows if row[4] == "pairs"] == [
        "scores, all predecessors",
        "successors, all",
    ]


@pytest.mark.gpu
def test_genotyping_on_the_gpu(long_genome: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("genotype", "--reference", long_genome, "--device", "cuda:0") == 0
    _, row = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert row[0].startswith("cuda:0")
    assert float(row[9]) < 5
    assert float(row[10]) >= 0  # of kernels timed apart from the run: no share of its time


@pytest.mark.gpu
def test_calling_on_the_gpu(long_genome: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("call", "--reference", long_genome, "--device", "cuda:0") == 0
    _, whole, *stages = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert whole[0].startswith("cuda:0")
    assert whole[1] == "whole run"
    assert float(whole[CALL_COLUMNS.index("host regions")]) >= 0
    assert 0 < float(whole[CALL_COLUMNS.index("% kernels")]) <= 100
    assert float(whole[CALL_COLUMNS.index("% recall")]) > 90
    assert {row[1] for row in stages} > {"read", "pairhmm", "realign", "write"}


def test_reading_and_writing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(io, "_BATCH_READS", 200)
    monkeypatch.setattr(io, "benchmark_io", partial(io.benchmark_io, seconds=0.01))
    statistics = tmp_path / "x.json"
    options = ("--copies", "2", "-t", "3", "--device", "cpu", "--json", statistics)
    assert status_of("io", *options) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["device", "task", "threads", "reads", "seconds", "M reads/s"]
    tasks = ["BAM to columns", "columns to BAM", "columns to uncompressed BAM"]
    assert [row.split("\t")[1:4] for row in rows] == [
        [task, threads, "3200"] for threads in "123" for task in tasks
    ]
    written = json.loads(statistics.read_text())
    assert len(written) == len(rows)
    assert written[0].keys() == {"device", "task", "threads", "reads", "seconds"}
