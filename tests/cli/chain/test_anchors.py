"""`hapgpu chain --anchors`: ready-made anchors in, scores and chains out."""

from __future__ import annotations

import json
import subprocess
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import hapgpu
from tests.cli.chain.command import COMMAND, status_of
from tests.longread.chain_oracle import Anchor, to_batch

DIAGONAL = [Anchor(1 << 31, 1000 + at, 50 + at, 15) for at in range(0, 90, 9)]
BATCH = to_batch([DIAGONAL, [], DIAGONAL[:2]])
COLUMNS = ("f", "p", "chain_x", "chain_y", "chain_anchor_offsets", "chain_scores", "chain_offsets")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "anchors.npz"
    np.savez(path, x=BATCH.x, y=BATCH.y, offsets=BATCH.offsets)
    return path


def run(path: Path, *arguments: str | Path) -> dict[str, np.ndarray]:
    output = path.parent / "chains.npz"
    options = ("-q", "--device", "cpu", "-t", "2")
    assert status_of("--anchors", path, "-o", output, *options, *arguments) == 0
    with np.load(output) as arrays:
        assert set(arrays) == set(COLUMNS)
        return dict(arrays)


def expected(options: dict[str, int], k: int = 15) -> list[np.ndarray]:
    found = hapgpu.chain_anchors(BATCH, **options, k=k, device="cpu")
    chains = found.chains
    return [
        found.scores,
        found.predecessors,
        *(chains.x, chains.y, chains.anchor_offsets, chains.scores, chains.offsets),
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "k"),
    [
        ([], {}, 15),
        (["-x", "map-hifi"], {"max_gap": 10_000}, 19),
        (["-g", "8", "-r", "5", "-n", "1", "-m", "10"], {"max_gap": 8, "bandwidth": 5}, 15),
        (["--max-chain-iter", "0"], {"max_iterations": 0}, 15),
    ],
)
def test_as_from_python(path: Path, arguments: list[str], options: dict[str, int], k: int) -> None:
    if "-n" in arguments:
        options = options | {"min_count": 1, "min_score": 10}
    found = run(path, *arguments)
    for name, column in zip(COLUMNS, expected(options, k), strict=True):
        np.testing.assert_array_equal(found[name], column)
        assert found[name].dtype == column.dtype


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
def test_scores_and_predecessors_equal_minimap2(data_dir: Path, tmp_path: Path, name: str) -> None:
    source = data_dir / "longread" / "chain" / f"anchors_{name}.npz"
    output, report = tmp_path / "chains.npz", tmp_path / "run.json"
    for skip, options in (("inf", ["--max-chain-skip=1000000000"]), ("skip25", [])):
        arguments = (*options, "-o", output, "--json", report, "-q", "--device", "cpu")
        assert status_of("--anchors", source, *arguments) == 0
        with np.load(source) as given, np.load(output) as found:
            np.testing.assert_array_equal(found["f"], given[f"f_{skip}"])
            np.testing.assert_array_equal(found["p"], given[f"p_{skip}"])
            reads, anchors = given["offsets"].size - 1, given["x"].size
    ranges = json.loads(report.read_text())["predecessor_ranges"]
    assert (ranges["reads"], ranges["anchors"]) == (reads, anchors)
    assert sum(ranges["histogram"].values()) == anchors
    assert ranges["cut_points"] == ranges["histogram"]["0"]
    assert ranges["mean"] <= ranges["max"] <= 5000


def test_statistics(path: Path, tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    run(path, "--json", report)
    statistics = json.loads(report.read_text())
    assert statistics["counts"] == {"reads": 3, "anchors": 12, "chains": 1}
    assert set(statistics["seconds"]) == {"read", "chain", "total"}
    bins = ["0", "1-5", "6-16", "17-64", "65-256", "257-1024", ">1024"]
    assert statistics["predecessor_ranges"] == {
        "reads": 3,
        "anchors": 12,
        "mean": (sum(range(10)) + 1) / 12,
        "max": 9,
        "cut_points": 2,
        "histogram": dict(zip(bins, [2, 6, 4, 0, 0, 0, 0], strict=True)),
    }


def test_standard_output(path: Path) -> None:
    command = [*COMMAND, "--anchors", str(path), "-q", "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert not done.stderr
    with np.load(BytesIO(done.stdout)) as arrays:
        assert arrays["chain_scores"].tolist() == [15 + 9 * 9]
