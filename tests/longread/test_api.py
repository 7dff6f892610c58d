"""`hapgpu.chain_anchors`: scores and chains of ready-made anchors, and its errors."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hapgpu
from hapgpu.errors import DeviceError, InputError, UsageError
from hapgpu.longread import anchor_chains
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.seed import anchor_files as files
from tests.longread import chain_oracle
from tests.longread.chain_oracle import Anchor, chains_from_batch, to_batch

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

DIAGONAL = [Anchor(1 << 31, 1000 + step, 50 + step, 15) for step in range(0, 90, 9)]
READS = [DIAGONAL, [], DIAGONAL[:2], [], DIAGONAL[3:]]


def columns() -> Columns:
    batch = to_batch(READS)
    return batch.x.copy(), batch.y.copy(), batch.offsets.copy()


def test_signature() -> None:
    parameters = inspect.signature(hapgpu.chain_anchors).parameters
    defaults = ChainOptions()
    options = ("max_gap", "bandwidth", "min_count", "min_score", "max_skip", "max_iterations")
    assert {name: each.default for name, each in parameters.items() if name != "anchors"} == {
        "k": 15,
        **{name: getattr(defaults, name) for name in options},
        "device": "auto",
        "threads": None,
    }


def check(found: hapgpu.AnchorChains, options: ChainOptions, k: int) -> None:
    scores = [chain_oracle.chain_scores(read, options, k) for read in READS]
    assert found.scores.tolist() == [score for f, _ in scores for score in f]
    assert found.predecessors.tolist() == [j for _, p in scores for j in p]
    assert chains_from_batch(found.chains) == [
        chain_oracle.trace(read, score, options) for read, score in zip(READS, scores, strict=True)
    ]


def test_chains() -> None:
    found = hapgpu.chain_anchors(to_batch(READS), device="cpu")
    assert isinstance(found, hapgpu.AnchorChains)
    assert isinstance(found.chains, hapgpu.Chains)
    assert found.chains.offsets.tolist() == [0, 1, 1, 1, 1, 2]
    assert found.chains.scores.tolist() == [15 + 9 * 9, 15 + 6 * 9]
    check(found, ChainOptions(), 15)


def test_options_and_plain_arrays() -> None:
    options = {"max_gap": 9, "bandwidth": 3, "min_count": 1, "min_score": 20}
    made = ChainOptions(**options)
    check(hapgpu.chain_anchors(columns(), k=19, **options, device="cpu"), made, 19)
    strided = tuple(np.repeat(column, 2)[::2] for column in columns())
    check(hapgpu.chain_anchors(strided, k=19, **options, device="cpu", threads=1), made, 19)


@pytest.mark.parametrize("size", [1, 9, 11, 12])
def test_cut_into_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    pieces = to_batch(READS).pieces(size)
    assert len(pieces) > 1
    assert sum(len(piece) for piece in pieces) == len(READS)
    monkeypatch.setattr(anchor_chains, "_ANCHORS_ON_CPU", size)
    check(hapgpu.chain_anchors(columns(), device="cpu"), ChainOptions(), 15)


def test_minimap2(data_dir: Path) -> None:
    path = data_dir / "longread/chain/anchors_bacterial.npz"
    found = hapgpu.chain_anchors(hapgpu.load_anchors(path), max_skip=None, device="cpu")
    with np.load(path) as data:
        np.testing.assert_array_equal(found.scores, data["f_inf"])
        np.testing.assert_array_equal(found.predecessors, data["p_inf"])


def test_no_anchors() -> None:
    for reads in ([], [[]], [[], []]):
        found = hapgpu.chain_anchors(to_batch(reads), device="cpu")
        assert found.scores.size == found.predecessors.size == found.chains.x.size == 0
        assert found.chains.offsets.tolist() == [0] * (len(reads) + 1)
        assert found.chains.anchor_offsets.tolist() == [0]


def test_arguments_are_left_alone() -> None:
    arrays = columns()
    hapgpu.chain_anchors(arrays, device="cpu")
    for after, before in zip(arrays, columns(), strict=True):
        np.testing.assert_array_equal(after, before)


def changed(column: int, row: int, value: int) -> Columns:
    arrays = columns()
    arrays[column][row] = value
    return arrays


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        (0, 4, 5, "read 0: anchor 4 has a smaller x than the anchor before"),
        (0, 13, 1 << 63 | 1099, "read 4: anchor 2 has a smaller x"),
        (0, 18, 1 << 63 | 1 << 31, r"read 4: anchor 6 is beyond position 2\*\*31 of the ref"),
        (1, 10, 15 << 32 | 1 << 31, r"read 2: anchor 0 is beyond position 2\*\*31 of the read"),
        (1, 11, 60, "read 2: anchor 1 has no span"),
        (1, 0, 15 << 32 | 13, "read 0: anchor 0 starts before its read"),
        (1, 9, 1 << 48 | 15 << 32 | 200, "read 0: anchor 9 has a segment number"),
        (2, 0, 1, "do not go from 0 to 19"),
        (2, 5, 18, "do not go from 0 to 19"),
        (2, 5, 20, "do not go from 0 to 19"),
        (2, 2, 9, "read 1: the offsets decrease"),
        (2, 3, -1, "read 2: the offsets decrease"),
    ],
)
def test_values_that_are_no_anchors(column: int, row: int, value: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hapgpu.chain_anchors(changed(column, row, value), device="cpu")


def test_smallest_and_largest_values() -> None:
    far = 2**31 - 1
    reads = [[Anchor(0, far, 14, 15), Anchor(0, far, far, 255), Anchor(2**32 - 1, far, 0, 1)]]
    assert hapgpu.chain_anchors(to_batch(reads), device="cpu").scores.tolist() == [15, 255, 1]


def test_most_anchors_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MAX_INT", 2)
    first = Anchor(0, 0, 0, 1)
    assert hapgpu.chain_anchors(to_batch([[first] * 2] * 2), device="cpu").scores.size == 4
    with pytest.raises(InputError, match=r"a read has 2\*\*31 anchors or more; split the read"):
        hapgpu.chain_anchors(to_batch([[first], [first] * 3]), device="cpu")


def test_a_read_may_start_at_a_smaller_position() -> None:
    reads = [DIAGONAL[5:], DIAGONAL[:3], [], []]
    assert hapgpu.chain_anchors(to_batch(reads), device="cpu").scores.size == 8


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        (None, r"give Anchors, or the three arrays \(x, y, offsets\)"),
        ((), "three arrays"),
        (columns()[:2], "three arrays"),
        ((columns()[0].astype(np.int64), *columns()[1:]), "x: of type int64, 1-dimensional"),
        ((*columns()[:2], columns()[2].astype(np.int32)), "offsets: of type int32, 1-dimensional"),
        (
            (columns()[0], columns()[1].reshape(1, -1), columns()[2]),
            "y: of type uint64, 2-dimensional",
        ),
        (
            (columns()[0].tolist(), *columns()[1:]),
            "x: of type list; give a 1-dimensional NumPy array of uint64",
        ),
        (
            (columns()[0], columns()[1][1:], columns()[2]),
            "x: 19 anchors, but y has 18; give arrays of one length",
        ),
    ],
)
def test_arguments_of_the_wrong_kind(anchors: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        hapgpu.chain_anchors(anchors, device="cpu")


def test_no_offsets() -> None:
    nothing = np.empty(0, dtype=np.uint64)
    with pytest.raises(InputError, match="offsets: do not go from 0 to 0"):
        hapgpu.chain_anchors((nothing, nothing, np.empty(0, dtype=np.int64)), device="cpu")


@pytest.mark.parametrize(
    ("options", "k", "message"),
    [
        (
            {"max_gap": -1},
            15,
            "max_gap=-1: out of range; give a whole number from 0 to 2,147,483,647",
        ),
        (
            {"bandwidth": 200_001},
            15,
            "bandwidth=200001: out of range; give a whole number from 0 to 200,000",
        ),
        ({"max_iterations": -1}, 15, "max_iterations=-1"),
        ({"max_skip": 2**31}, 15, "max_skip=2147483648"),
        ({"min_score": 4.5}, 15, r"min_score=4\.5"),
        ({"threads": 0}, 15, "threads=0: out of range"),
        ({}, 0, "k=0: out of range; give a whole number from 1 to 28"),
        ({}, 29, "k=29"),
    ],
)
def test_numbers_out_of_range(options: dict[str, Any], k: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        hapgpu.chain_anchors(columns(), **options, k=k, device="cpu")


@pytest.mark.parametrize("k", [1, 28])
@pytest.mark.parametrize(
    "options",
    [
        {"max_gap": 2**31 - 1},
        {"bandwidth": 200_000},
        {"min_count": 2**31 - 1},
        {"min_score": 2**31 - 1},
        {"max_skip": 2**31 - 1},
        {"max_iterations": 2**31 - 1},
        dict.fromkeys(("max_gap", "bandwidth", "min_count", "min_score"), 0),
        dict.fromkeys(("max_skip", "max_iterations"), 0),
    ],
    ids=str,
)
def test_least_and_greatest_numbers(options: dict[str, Any], k: int) -> None:
    found = hapgpu.chain_anchors(columns(), **options, k=k, device="cpu")
    check(found, ChainOptions(**options), k)


def test_a_gpu_that_does_not_exist() -> None:
    with pytest.raises(DeviceError, match="cuda:4000"):
        hapgpu.chain_anchors(columns(), device="cuda:4000")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize("max_skip", [25, None])
def test_same_on_a_gpu(data_dir: Path, name: str, max_skip: int | None) -> None:
    anchors = hapgpu.load_anchors(data_dir / f"longread/chain/anchors_{name}.npz")
    expected, found = (
        hapgpu.chain_anchors(anchors, max_skip=max_skip, device=device)
        for device in ("cpu", "cuda:0")
    )
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)
    for column in ("x", "y", "anchor_offsets", "scores", "offsets"):
        np.testing.assert_array_equal(
            getattr(found.chains, column), getattr(expected.chains, column)
        )


@pytest.mark.gpu
@pytest.mark.parametrize("anchors_per_piece", [1, 12])
def test_pieces_on_a_gpu(monkeypatch: pytest.MonkeyPatch, anchors_per_piece: int) -> None:
    from hapgpu.longread.cuda import stages as cuda  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(cuda, "_ANCHORS_PER_PIECE", anchors_per_piece)
    check(hapgpu.chain_anchors(columns(), device="cuda:0"), ChainOptions(), 15)
