"""End cells of two pairs at a time on a GPU, against the reference and the aligner."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.batches import PairBatch
from hapgpu.realign.align.cuda import aligner, packed
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.cuda.buckets import PairLengths
from hapgpu.realign.align.cuda.end_cells import UNCERTIFIED
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from tests.realign.align.end_cell_cases import SCORINGS, Ends, check_ends, made_pairs

pytestmark = pytest.mark.gpu

GPU = CudaDevice(0)


def found_ends(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> Ends:
    uploaded = DevicePairs.upload(pairs)
    lengths = PairLengths.of(uploaded)
    ends = packed.packed_end_cells(uploaded, lengths, scoring, overhang, GPU)
    return list(zip(*(array.get().tolist() for array in ends), strict=True))


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_as_the_reference(scoring: Scoring, overhang: Overhang) -> None:
    for seed, longest in enumerate((3, 40, 90)):
        pairs = made_pairs(seed, 101, (1, longest), longest)
        check_ends(found_ends(pairs, scoring, overhang), pairs, scoring, overhang)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", PRESETS.values(), ids=str)
def test_scores_of_the_aligner(scoring: Scoring, overhang: Overhang) -> None:
    pairs = DevicePairs.upload(made_pairs(4, 3_000, (1, 1_200), 900))
    lengths = PairLengths.of(pairs)
    ends = packed.packed_end_cells(pairs, lengths, scoring, overhang, GPU)
    scores = aligner.score_device_pairs(pairs, scoring, overhang, GPU)
    is_certified = ends.rows.get() != UNCERTIFIED
    assert np.count_nonzero(is_certified) > 1_000
    np.testing.assert_array_equal(ends.scores.get()[is_certified], scores.get()[is_certified])
