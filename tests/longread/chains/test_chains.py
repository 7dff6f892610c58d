"""Chains traced from scores, against minimap2 and the reference implementation."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import chain_parameters
from tests.example_counts import many
from tests.longread import chain_oracle
from tests.longread.chain_oracle import (
    Anchor,
    Scores,
    chains_from_batch,
    from_batch,
    made_reads,
    to_batch,
)


def check(reads: list[list[Anchor]], scores: list[Scores], options: ChainOptions) -> None:
    f = np.array([score for read, _ in scores for score in read], dtype=np.int32)
    p = np.array([j for _, read in scores for j in read], dtype=np.int32)
    found = trace_chains(to_batch(reads), ChainScores(f, p), chain_parameters(options, 15))
    assert chains_from_batch(found) == [
        chain_oracle.trace(read, score, options) for read, score in zip(reads, scores, strict=True)
    ]


def minimap2_chains(rows: list[list[int]]) -> Counter[tuple[object, ...]]:
    """Count chains by read and anchors; the file lists them in the order of a later stage."""
    chains = groupby(rows, key=lambda row: row[:2])
    return Counter((read, *map(tuple, (row[2:] for row in chain))) for (read, _), chain in chains)


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize("column", ["skip25", "inf"])
def test_minimap2(data_dir: Path, name: str, column: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
        scores = ChainScores(data[f"f_{column}"], data[f"p_{column}"])
        expected = minimap2_chains(data[f"chains_{column}"].tolist())
    chains = trace_chains(anchors, scores, chain_parameters(ChainOptions(), 15))
    found = Counter(
        (
            read,
            *(
                (a.target, int(a.sequence >= chain_oracle.STRAND), a.query, a.span)
                for a in chain.anchors
            ),
        )
        for read, of_read in enumerate(chains_from_batch(chains))
        for chain in of_read
    )
    assert found == expected


def test_order_of_real_chains(data_dir: Path) -> None:
    with np.load(data_dir / "longread/chain/anchors_repeat_rich.npz") as data:
        reads = from_batch(Anchors(data["x"], data["y"], data["offsets"]))
        f, p, offsets = data["f_inf"].tolist(), data["p_inf"].tolist(), data["offsets"].tolist()
    scores = [(f[start:end], p[start:end]) for start, end in pairwise(offsets)]
    check(reads, scores, ChainOptions())


@st.composite
def reads_with_any_scores(draw: st.DrawFn) -> tuple[list[list[Anchor]], list[Scores]]:
    """Draw reads with arbitrary scores and predecessors, such as no recursion would make."""
    reads = draw(made_reads())
    scores = [
        (
            [draw(st.integers(0, 60)) for _ in read],
            [draw(st.integers(max(-1, i - 5), i - 1)) for i in range(len(read))],
        )
        for read in reads
    ]
    return reads, scores


LIMITS = st.builds(
    ChainOptions,
    bandwidth=st.sampled_from([0, 3, 20, 500]),
    min_count=st.integers(0, 4),
    min_score=st.sampled_from([0, 1, 15, 40]),
)


@given(reads_with_any_scores(), LIMITS)
@settings(max_examples=many(300))
def test_any_scores(made: tuple[list[list[Anchor]], list[Scores]], options: ChainOptions) -> None:
    check(*made, options)


@given(made_reads(), LIMITS)
@settings(max_examples=many(200))
def test_scores_of_chains(reads: list[list[Anchor]], options: ChainOptions) -> None:
    scores = [chain_oracle.chain_scores(read, options, 15) for read in reads]
    check(reads, scores, options)


def test_no_reads_and_no_anchors() -> None:
    check([], [], ChainOptions())
    check([[], []], [([], []), ([], [])], ChainOptions())
