"""Large batches of host memory in pieces, against the batch as a whole."""

from __future__ import annotations

from functools import partial

import cupy
import numpy as np
import pytest

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda import aligner, host_pairs
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice, CudaDevice

pytestmark = pytest.mark.gpu

GPU = CudaDevice(0)
READ = PRESETS["read-to-haplotype"]
ALIGN = partial(aligner.align_device_pairs, scoring=READ, overhang=Overhang.SOFTCLIP, device=GPU)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_pairs, "PIECE_PAIRS", 10)


def made_pairs(count: int, seed: int = 1) -> PairBatch:
    """Make pairs of any lengths, row by row."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"AC", dtype=np.uint8)
    lengths = rng.integers(1, 60, (2, count))
    rows = np.arange(count, dtype=np.int32)
    sides = (Ragged.from_lengths(rng.choice(letters, int(each.sum())), each) for each in lengths)
    return PairBatch(*sides, rows, rows)


def in_pieces(pairs: PairBatch) -> AlignmentBatch | None:
    with cupy.cuda.Device(0), cupy.cuda.Stream(non_blocking=True):
        return host_pairs.aligned_in_pieces(pairs, ALIGN)


@pytest.mark.parametrize("count", [11, 20, 21, 30, 99])
def test_as_a_whole(count: int) -> None:
    pairs = made_pairs(count)
    found = in_pieces(pairs)
    expected = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    assert found is not None
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.cigars.offsets, expected.cigars.offsets)
    np.testing.assert_array_equal(found.cigars.data, expected.cigars.data)


def test_other_batches_are_left() -> None:
    pairs = made_pairs(30)
    assert in_pieces(made_pairs(10)) is None
    assert in_pieces(pairs.take(np.arange(30)[::-1].copy())) is None
    assert in_pieces(pairs.take(np.arange(20))) is None


def test_an_error_of_a_piece_is_raised() -> None:
    calls = []

    def align(pairs: DevicePairs) -> DeviceAlignments:
        calls.append(len(pairs))
        if len(calls) == 2:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1)
        return ALIGN(pairs)

    with cupy.cuda.Stream(non_blocking=True), pytest.raises(MemoryError):
        host_pairs.aligned_in_pieces(made_pairs(50), align)
    assert calls == [10, 10]
