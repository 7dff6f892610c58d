"""Chain scores by forward transformation, against minimap2 and the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.chain import scores as cpu
from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions
from hapgpu.longread.parameters import ChainParameters, chain_parameters
from tests.longread.chain_oracle import Anchor, colinear_reads, made_reads, to_batch

pytestmark = pytest.mark.gpu


def on_gpu(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    cupy = pytest.importorskip("cupy")
    from hapgpu.benchmark.cuda.chaining import successor_scores  # noqa: PLC0415  (needs CuPy)

    columns = (cupy.asarray(part) for part in (anchors.x, anchors.y, anchors.offsets))
    found = successor_scores(Anchors(*columns), parameters)
    return ChainScores(found.scores.get(), found.predecessors.get())


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
def test_minimap2(data_dir: Path, name: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
        found = on_gpu(anchors, chain_parameters(ChainOptions(), 15))
        np.testing.assert_array_equal(found.scores, data["f_inf"])
        np.testing.assert_array_equal(found.predecessors, data["p_inf"])


@given(
    made_reads() | colinear_reads(),
    st.sampled_from([0, 10, 60, 1000, 5000]),
    st.sampled_from([0, 5, 80, 500]),
)
@settings(max_examples=200)
def test_made_reads(reads: list[list[Anchor]], max_gap: int, bandwidth: int) -> None:
    options = ChainOptions(max_gap=max_gap, bandwidth=bandwidth, max_skip=UNLIMITED_SKIP)
    batch, parameters = to_batch(reads), chain_parameters(options, 15)
    found, expected = on_gpu(batch, parameters), cpu.chain_scores(batch, parameters)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)
