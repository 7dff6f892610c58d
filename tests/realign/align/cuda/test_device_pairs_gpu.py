"""Alignment of pairs that are in GPU memory, against the CPU."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import DeviceError, InputError
from hapgpu.realign.align.cuda import aligner, stages
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from tests.realign.align.cuda.made_batches import made_pairs

pytestmark = pytest.mark.gpu

GPU = CudaDevice(0)
READ = PRESETS["read-to-haplotype"]


def assert_equal(found: AlignmentBatch, expected: AlignmentBatch) -> None:
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.cigars.offsets, expected.cigars.offsets)
    np.testing.assert_array_equal(found.cigars.data, expected.cigars.data)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize(
    "scoring",
    [
        *PRESETS.values(),
        Scoring(0, -1, -1, -1),
        Scoring(5, -50, -1, -1),
        Scoring(-3, 2, -4, -1),
        Scoring(99_991, -150_001, -300_007, -50_021),
    ],
    ids=str,
)
def test_as_on_the_cpu(scoring: Scoring, overhang: Overhang) -> None:
    pairs = made_pairs(1, 120)
    expected = align_pairs(pairs, scoring, overhang, CpuDevice(1))
    uploaded = DevicePairs.upload(pairs)
    assert_equal(uploaded_alignments(uploaded, scoring, overhang), expected)
    scores = aligner.score_device_pairs(uploaded, scoring, overhang, GPU)
    assert scores.get().tolist() == expected.scores.tolist()
    compact = uploaded.compact()
    assert len(compact.queries) < len(uploaded.queries)
    assert_equal(uploaded_alignments(compact, scoring, overhang), expected)


def uploaded_alignments(
    pairs: DevicePairs, scoring: Scoring, overhang: Overhang = Overhang.SOFTCLIP
) -> AlignmentBatch:
    return aligner.align_device_pairs(pairs, scoring, overhang, GPU).download()


def test_no_pairs() -> None:
    pairs = DevicePairs.upload(made_pairs(2, 0))
    assert len(uploaded_alignments(pairs, READ)) == 0
    scores = aligner.score_device_pairs(pairs, READ, Overhang.SOFTCLIP, GPU)
    assert scores.dtype == np.int32
    assert scores.size == 0


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_pairs_that_do_not_fit_are_split(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = aligner.align_batch

    def tight(pairs: DevicePairs, task: Any) -> Any:
        if len(pairs) > limit:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1)
        return run(pairs, task)

    pairs = made_pairs(3, 60)
    monkeypatch.setattr(aligner, "align_batch", tight)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    assert_equal(uploaded_alignments(DevicePairs.upload(pairs), READ), expected)
    assert_equal(align_pairs(pairs, READ, Overhang.SOFTCLIP, GPU), expected)
    scores = score_pairs(pairs, READ, Overhang.SOFTCLIP, GPU)
    assert scores.tolist() == expected.scores.tolist()


def test_a_pair_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(1, 1)

    monkeypatch.setattr(aligner, "align_batch", never)
    with pytest.raises(DeviceError, match="too little memory for a pair of"):
        uploaded_alignments(DevicePairs.upload(made_pairs(4, 3)), READ)


def test_sequences_with_offsets_above_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = made_pairs(5, 40)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    monkeypatch.setattr(aligner, "_LARGEST_INDEX", 1000)
    assert_equal(uploaded_alignments(DevicePairs.upload(pairs), READ), expected)


def test_a_pool_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = made_pairs(6, 40)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    monkeypatch.setattr(stages, "_other_runs", lambda _: 30)
    assert_equal(uploaded_alignments(DevicePairs.upload(pairs), READ), expected)


def test_empty_sequences_are_refused() -> None:
    sequences = Ragged.from_sequences(["A", ""])
    rows = np.array([0, 1], dtype=np.int32)
    for pairs, kind in (
        (PairBatch(sequences, sequences, rows, rows * 0), "reference"),
        (PairBatch(sequences, sequences, rows * 0, rows), "query"),
    ):
        with pytest.raises(InputError, match=f"pair 1: empty {kind}"):
            uploaded_alignments(DevicePairs.upload(pairs), READ)
