"""The float64 kernel of the pair-HMM on a GPU, for all pairs: the bits of `exact.py`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.cpu import exact_log10_likelihoods
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CudaDevice
from tests.pairhmm.forward.float64_cases import CASES

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(10))
def test_has_the_bits_of_the_cpu(
    case: Callable[[np.random.Generator], HmmBatch], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few pairs, spread over all warps, and many, several per warp."""
    pytest.importorskip("cupy")
    monkeypatch.setattr("hapgpu.pairhmm.cuda.piece_run.FLOAT_THRESHOLD", math.inf)
    few = case(np.random.default_rng(seed))
    expected = exact_log10_likelihoods(few, np.arange(few.pairs), 4)
    copies = -(-10_000 // few.pairs)
    for batch, values in (
        (few, expected),
        (HmmBatch.concatenate([few] * copies), np.tile(expected, copies)),
    ):
        found = log10_likelihoods(batch, CudaDevice(0))
        np.testing.assert_array_equal(found.view(np.int64), values.view(np.int64))
