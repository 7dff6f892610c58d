"""The reference implementation of long-read mapping, against minimap2 2.30 and definitions."""

from __future__ import annotations

import gzip
import json
import os
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions, SketchOptions
from hapgpu.longread.parameters import chain_parameters
from tests.example_counts import many
from tests.longread.anchors.reference import Anchor
from tests.longread.chains.reference import chains_of
from tests.longread.index.reference import index_of
from tests.longread.minimap2_options import options_of
from tests.longread.run.reference import paf_lines
from tests.longread.scores.reference import NONE, chain_scores, gain, gap_between, gap_cost
from tests.longread.sketch.reference import minimizers_of, mix
from tests.longread.sort.reference import sort_ascending

LARGEST_STABLE = 64  # minimap2's RS_MIN_SIZE

SAMPLES: Final = {
    "real_lambda_ont.v230_map-ont": 6,
    "real_lambda_ont.v230_map-ont_inf_nojoin": 12,
    "real_hg003_hifi.v230_map-hifi": 30,
    "real_hg003_hifi.v230_map-ont_inf_nojoin": 141,
}
"""One read in so many is mapped."""
WHOLE: Final = (
    *SAMPLES,
    "real_ecoli_clr.v230_map-pb",
    "real_ecoli_clr.v230_map-ont_inf_nojoin",
    "v230_map-ont",
    "v230_map-ont_inf_nojoin",
    "v230_map-ont_inf",
    "v230_map-ont_P_nojoin",
    "v230_map-ont_N50p01",
    "v230_map-ont_f0.005_e0",
    "v230_map-ont_k14w7",
    "v230_map-hifi",
    "v230_map-pb",
)
COMPLEMENTS: Final = bytes.maketrans(b"ACGT", b"TGCA")


def records_of(path: Path) -> list[tuple[str, bytes]]:
    """Read gzip-compressed FASTQ or FASTA."""
    with gzip.open(path) as file:
        text = file.read()
    if text.startswith(b"@"):
        lines = text.splitlines()
        return [
            (name.split()[0][1:].decode(), bases)
            for name, bases in zip(lines[::4], lines[1::4], strict=True)
        ]
    records = []
    for record in text[1:].split(b"\n>"):
        head, _, bases = record.partition(b"\n")
        records.append((head.split()[0].decode(), bases.replace(b"\n", b"")))
    return records


def check_set(data_dir: Path, name: str, step: int) -> None:
    directory = data_dir / "longread" / "chain"
    entry = json.loads((directory / "manifest.json").read_text())[name]
    reference, reads = directory / "ref.fa.gz", directory / "reads.fa.gz"
    if "reads" in entry:
        reference, reads = (
            data_dir / Path(entry[which]).relative_to("shared/data") for which in ("ref", "reads")
        )
    options = options_of(entry["options"].split())
    sample = records_of(reads)[::step]
    names = {read_name for read_name, _ in sample}
    with gzip.open(directory / f"{name}.paf.gz", "rt") as lines:
        expected = [line for line in lines.read().splitlines() if line.split("\t")[0] in names]
    index = index_of(records_of(reference), options.sketch)
    assert list(paf_lines(sample, index, options)) == expected


@pytest.mark.parametrize(
    ("name", "step"),
    [
        pytest.param(name, step, marks=[pytest.mark.exhaustive] * (step > 100))
        for name, step in SAMPLES.items()
    ],
)
def test_lines_of_some_reads_equal_minimap2(data_dir: Path, name: str, step: int) -> None:
    check_set(data_dir, name, step)


@pytest.mark.skipif(
    os.environ.get("HAPGPU_TEST_REFERENCE") != "1",
    reason="takes hours: set HAPGPU_TEST_REFERENCE=1",
)
@pytest.mark.parametrize("name", WHOLE)
def test_lines_of_all_reads_equal_minimap2(data_dir: Path, name: str) -> None:
    check_set(data_dir, name, step=1)


@given(st.text("ACGT", min_size=40, max_size=200) | st.text("AC", min_size=40, max_size=200))
def test_minimizers_are_the_minima_of_windows(text: str) -> None:
    """For odd k, after the first window, in which minimap2 compares ties too early."""
    k, w = 5, 6
    sequence = text.encode()
    hashes = []
    for start in range(len(sequence) - k + 1):
        word = sequence[start : start + k]
        both = (word, word.translate(COMPLEMENTS)[::-1])
        numbers = [sum(b"ACGT".index(base) * 4**i for i, base in enumerate(x[::-1])) for x in both]
        hashes.append(mix(min(numbers), 2 * k))
    minima = {
        position
        for start in range(len(hashes) - w + 1)
        for position in range(start, start + w)
        if hashes[position] == min(hashes[start : start + w])
    }
    found = [m.position + 1 - k for m in minimizers_of(sequence, SketchOptions(k=k, w=w))]
    assert found == sorted(set(found))
    assert [position for position in found if position >= w] == sorted(
        position for position in minima if position >= w
    )
    assert all(set(range(start, start + w)) & set(found) for start in range(len(hashes) - w + 1))


@given(st.text("ACGT", min_size=30, max_size=300))
def test_both_strands_have_the_same_minimizers(text: str) -> None:
    """Except for the first and the last windows."""
    options = SketchOptions(k=7, w=4)
    sequence = text.encode()
    reverse_minimizers = minimizers_of(sequence.translate(COMPLEMENTS)[::-1], options)
    mirrored = {(m.hash, len(sequence) - 1 - (m.position + 1 - m.span)) for m in reverse_minimizers}
    forward = {(m.hash, m.position) for m in minimizers_of(sequence, options)}
    margin = options.k + 2 * options.w
    for _, position in forward ^ mirrored:
        assert position < margin or position >= len(sequence) - margin


@given(st.integers(1, 28), st.data())
def test_mix_loses_nothing(k: int, data: st.DataObject) -> None:
    values = data.draw(st.sets(st.integers(0, 4**k - 1), max_size=50))
    assert len({mix(value, 2 * k) for value in values}) == len(values)
    assert all(0 <= mix(value, 2 * k) < 4**k for value in values)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=200))
def test_order(keys: list[int]) -> None:
    numbered = list(enumerate(keys))
    found = sort_ascending(numbered, key=lambda pair: pair[1])
    assert [key for _, key in found] == sorted(keys)
    assert sorted(found) == numbered
    if len(keys) <= LARGEST_STABLE or len(set(keys)) == len(keys):
        assert found == sorted(numbered, key=lambda pair: pair[1])


def test_gap_costs_of_minimap2() -> None:
    gaps = (0, 1, 2, 10, 100, 500)
    assert [gap_cost(gap, 15) for gap in gaps] == [0, 0, 1, 2, 15, 64]
    for k in (5, 15, 28):
        costs = [gap_cost(gap, k) for gap in range(3000)]
        assert costs == sorted(costs)
        exact = 0.008 * k * np.arange(3000) + 0.5 * np.log2(np.arange(3000) + 1)
        assert np.abs(np.array(costs) + 0.5 - exact).max() < 0.6


@st.composite
def few_anchors(draw: st.DrawFn) -> list[Anchor]:
    position = st.integers(0, 60)
    rows = draw(st.lists(st.tuples(st.booleans(), position, position), max_size=8))
    return sort_ascending([Anchor(r, 0, t, q, 9) for r, t, q in rows], key=lambda a: a.x)


@given(few_anchors(), st.sampled_from([0, 10, 500]), st.sampled_from([5, 40]))
@settings(max_examples=many(200))
def test_scores_equal_the_best_of_all_chains(
    anchors: list[Anchor], bandwidth: int, gap: int
) -> None:
    """Scores are compared with every set of anchors that may follow each other."""
    k = 9
    parameters = chain_parameters(
        ChainOptions(max_gap=gap, bandwidth=bandwidth, max_skip=UNLIMITED_SKIP), k
    )
    scores = chain_scores(anchors, parameters, k)
    best = {i: anchor.span for i, anchor in enumerate(anchors)}
    for size in range(2, len(anchors) + 1):
        for chain in combinations(range(len(anchors)), size):
            steps = [(anchors[i], anchors[j]) for i, j in pairwise(chain)]
            if all(
                may_follow(before, after, max(gap, bandwidth), bandwidth) for before, after in steps
            ):
                total = anchors[chain[0]].span + sum(gain(*step, k) for step in steps)
                best[chain[-1]] = max(best[chain[-1]], total)
    assert scores.scores == list(best.values())


def may_follow(before: Anchor, after: Anchor, max_distance: int, bandwidth: int) -> bool:
    target_step, query_step = after.target - before.target, after.query - before.query
    is_near = 0 < target_step <= max_distance and 0 < query_step <= max_distance
    return (
        before.is_reverse == after.is_reverse
        and is_near
        and abs(target_step - query_step) <= bandwidth
    )


@given(few_anchors(), st.integers(1, 3), st.integers(1, 30))
def test_properties_of_chains(anchors: list[Anchor], min_count: int, min_score: int) -> None:
    """Each anchor is in one chain, all steps are allowed, and the best chain is among them."""
    k = 9
    options = ChainOptions(max_gap=30, bandwidth=20, min_count=min_count, min_score=min_score)
    parameters = chain_parameters(options, k)
    scores = chain_scores(anchors, parameters, k)
    chains = chains_of(anchors, scores, parameters)
    for chain in chains:
        assert chain.score >= min_score
        assert len(chain.anchors) >= min_count
        assert all(gap_between(*step) <= 20 for step in pairwise(chain.anchors))
        assert all(may_follow(*step, 30, 20) for step in pairwise(chain.anchors))
    in_chains = [anchor for chain in chains for anchor in chain.anchors]
    assert all(in_chains.count(anchor) <= anchors.count(anchor) for anchor in in_chains)
    firsts = [chain.anchors[0].x for chain in chains]
    assert firsts == sorted(firsts)
    highest = max(scores.scores, default=0)
    if min_count == 1 and highest >= min_score:
        assert max(chain.score for chain in chains) == highest
    assert all(p == NONE or p < i for i, p in enumerate(scores.predecessors))
