"""The float64 kernel of the pair-HMM, run on the CPU, for all pairs: the bits of `exact.py`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.cpu import exact_log10_likelihoods
from tests.example_counts import many
from tests.pairhmm.forward.emulated import emulated_likelihoods
from tests.pairhmm.forward.float64_cases import CASES
from tests.pairhmm.hmm_oracle import make_batch, uniform_read


def left_to_the_cpu(monkeypatch: pytest.MonkeyPatch, batch: HmmBatch) -> NDArray[np.bool_]:
    """Compare all bits; return which pairs of probabilities above 0 are left to the CPU."""
    pytest.importorskip("cupy")
    monkeypatch.setattr("hapgpu.pairhmm.cuda.piece_run.FLOAT_THRESHOLD", math.inf)
    found = emulated_likelihoods(monkeypatch, batch)
    expected = exact_log10_likelihoods(batch, np.arange(batch.pairs), 1)
    left = np.isnan(found)
    np.testing.assert_array_equal(found[~left].view(np.int64), expected[~left].view(np.int64))
    return left & ~np.isneginf(expected)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(many(10)))
def test_has_the_bits_of_the_cpu(
    case: Callable[[np.random.Generator], HmmBatch], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not left_to_the_cpu(monkeypatch, case(np.random.default_rng(seed))).any()


@pytest.mark.parametrize("length", [1, 79, 80, 81, 160, 320, 640, 641])
def test_haplotypes_that_fill_lanes(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone in a warp, and with others."""
    haplotype = b"ACGGT" * 129
    reads = [uniform_read(haplotype[:size], 20, 30, 30, 10) for size in (1, 4, 5, 7, 33)]
    for copies in (1, 8):
        batch = make_batch([(reads * copies, [haplotype[:length]])])
        assert not left_to_the_cpu(monkeypatch, batch).any()


def test_wide_haplotypes_after_narrow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that does not fit beside another waits for its warp."""
    haplotype = b"ACGGT" * 120
    reads = [uniform_read(haplotype[3:12], quality, 30, 30, 10) for quality in range(20, 40)]
    batch = make_batch([(reads, [haplotype[:100], haplotype])])
    assert not left_to_the_cpu(monkeypatch, batch).any()
