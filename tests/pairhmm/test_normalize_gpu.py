"""GATK's limits on likelihoods on the GPU, against the same limits on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.normalize import is_well_modelled, normalized

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("reads", [0, 1, 2000])
def test_as_on_the_cpu(reads: int) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.pairhmm.cuda.batches import normalize  # noqa: PLC0415  (needs CuPy)

    random = np.random.default_rng(reads)
    counts = random.integers(1, 9, reads)
    # Many of them at the thresholds, or 4.5 below others.
    likelihoods = random.integers(-40, 0, counts.sum()) / 2.0 + random.choice(
        [0, 1e-9], counts.sum()
    )
    lengths = random.integers(1, 200, reads)
    expected, best = normalized(likelihoods, counts)
    on_gpu = cupy.asarray(likelihoods)
    offsets = cupy.asarray(offsets_of(counts))
    is_explained = normalize(on_gpu, offsets, cupy.asarray(lengths))
    np.testing.assert_array_equal(on_gpu.get(), expected)
    np.testing.assert_array_equal(is_explained.get(), is_well_modelled(best, lengths))
