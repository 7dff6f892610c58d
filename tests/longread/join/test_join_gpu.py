"""Chains joined on the GPU against the CPU."""

from __future__ import annotations

import inspect
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.longread.batches import SPAN_SHIFT, Anchors, Chains
from hapgpu.longread.chain import join as on_cpu
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions
from hapgpu.longread.parameters import JoinParameters, chain_parameters, join_parameters
from tests.longread.made_chains import made_chains

pytestmark = pytest.mark.gpu


def parameters_for(options: ChainOptions, k: int = 15) -> JoinParameters:
    parameters = join_parameters(options, k)
    assert parameters is not None
    return parameters


def check(chains: Chains, lengths: NDArray[np.int32], parameters: JoinParameters) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.join import join_chains  # noqa: PLC0415  (needs CuPy)

    expected = on_cpu.join_chains(chains, lengths, parameters)
    found = join_chains(
        Chains(*map(cupy.asarray, astuple(chains))), cupy.asarray(lengths), parameters
    )
    for field in fields(Chains):
        of_gpu, of_cpu = getattr(found, field.name).get(), getattr(expected, field.name)
        assert of_gpu.dtype == of_cpu.dtype
        np.testing.assert_array_equal(of_gpu, of_cpu, err_msg=field.name)


def test_signature() -> None:
    from hapgpu.longread.cuda import join as on_gpu  # noqa: PLC0415  (needs CuPy)

    signatures = [list(inspect.signature(m.join_chains).parameters) for m in (on_cpu, on_gpu)]
    of_cpu_alone = ["tile", "overwrites"]
    assert signatures[0] == [*signatures[1], *of_cpu_alone]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("width", [300, 3000, 300_000])
def test_made_chains(seed: int, width: int) -> None:
    made = made_chains(seed, 20, width)
    check(made.chains, made.lengths, parameters_for(ChainOptions()))


@pytest.mark.parametrize(
    "options",
    [
        ChainOptions(max_skip=0),
        ChainOptions(max_skip=1, min_count=1, min_score=1),
        ChainOptions(max_skip=UNLIMITED_SKIP),
        ChainOptions(max_gap=100, bandwidth=50, long_bandwidth=600, min_score=20),
    ],
)
def test_options(options: ChainOptions) -> None:
    for seed in range(3):
        made = made_chains(seed, 20, 2000)
        check(made.chains, made.lengths, parameters_for(options, k=19))


@pytest.mark.parametrize("max_candidates", [1, 3, 40, 200])
def test_few_candidates(max_candidates: int) -> None:
    for seed in range(3):
        made = made_chains(seed, 20, 2000)
        check(
            made.chains,
            made.lengths,
            replace(parameters_for(ChainOptions()), max_candidates=max_candidates),
        )


@pytest.mark.parametrize("distance", [0, 10, 20_000])
def test_inner_distance(distance: int) -> None:
    for seed in range(3):
        made = made_chains(seed, 20, 2000)
        parameters = replace(parameters_for(ChainOptions()), inner_distance=distance)
        check(made.chains, made.lengths, parameters)


def grouped_chains(seed: int, sizes: list[int], gap: int) -> Chains:
    """Make a read with groups of anchors `gap` apart; each group is two interleaved chains.

    With few positions in the read and many spans, the first anchor of a group often shares its
    position with others, and is their best predecessor.
    """
    generator = np.random.default_rng(seed)
    x, y, ends = [], [], [0]
    for number, size in enumerate(sizes):
        targets = np.sort(generator.integers(0, 4 * size, size)) + 10_000 + number * (gap + 100_000)
        queries = generator.integers(60, 60 + max(size // 2, 3), size)
        spans = generator.integers(15, 60, size)
        for chain in (slice(0, None, 2), slice(1, None, 2)):
            x += targets[chain].tolist()
            y += (queries | spans << SPAN_SHIFT)[chain].tolist()
            ends.append(len(x))
    count = len(ends) - 1
    return Chains(
        x=np.array(x, dtype=np.uint64),
        y=np.array(y, dtype=np.uint64),
        anchor_offsets=np.array(ends, dtype=np.int64),
        scores=np.full(count, 50, dtype=np.int32),
        offsets=np.array([0, count], dtype=np.int64),
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sizes", [[4] * 30, [2, 33, 64, 65, 1, 31], [1500, 3, 400, 90]])
def test_several_segments(seed: int, sizes: list[int]) -> None:
    options = ChainOptions(min_count=1, min_score=1)
    chains = grouped_chains(seed, sizes, options.long_bandwidth)
    check(chains, np.array([100_000], dtype=np.int32), parameters_for(options))


@pytest.mark.parametrize("reads", [0, 1, 5])
def test_nothing_to_join(reads: int) -> None:
    none = Chains(
        x=np.empty(0, np.uint64),
        y=np.empty(0, np.uint64),
        anchor_offsets=np.zeros(1, np.int64),
        scores=np.empty(0, np.int32),
        offsets=np.zeros(reads + 1, np.int64),
    )
    check(none, np.full(reads, 1000, dtype=np.int32), parameters_for(ChainOptions()))


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize("max_skip", [25, UNLIMITED_SKIP])
def test_real_anchors(data_dir: Path, name: str, max_skip: int) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
    options = ChainOptions(max_skip=max_skip)
    parameters = chain_parameters(options, 15)
    chains = trace_chains(anchors, chain_scores(anchors, parameters), parameters)
    lengths = np.full(len(anchors), 100_000, dtype=np.int32)
    check(chains, lengths, parameters_for(options))
