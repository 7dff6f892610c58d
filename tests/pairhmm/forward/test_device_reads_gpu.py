"""The pair-HMM with reads that are in GPU memory, against reads in host memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch, HmmReads
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from tests.pairhmm.hmm_oracle import make_batch, random_group, uniform_read

pytestmark = pytest.mark.gpu

GPU = CudaDevice(0)
_CONTINUATION = 10


def made_batch(seed: int, groups: int) -> HmmBatch:
    """Make a batch with one gap continuation for all bases."""
    rng = np.random.default_rng(seed)
    batch = make_batch([random_group(rng, 120) for _ in range(groups)])
    reads, size = batch.reads, batch.reads.bases.data.size
    continuations = np.broadcast_to(np.full(1, _CONTINUATION, dtype=np.uint8), (size,))
    reads = HmmReads(reads.bases, *reads.qualities[:-1], continuations)
    return HmmBatch(reads, batch.haplotypes, batch.read_offsets, batch.haplotype_offsets)


def on_device(batch: HmmBatch, device: CudaDevice = GPU) -> NDArray[np.float64]:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.forward.cuda import (  # noqa: PLC0415  (needs CuPy)
        HaplotypeGroups,
        device_log10_likelihoods,
    )
    from hapgpu.pairhmm.qualities.cuda import DeviceHmmReads  # noqa: PLC0415  (needs CuPy)

    columns = (cupy.asarray(column) for column in batch.reads.qualities[:-1])
    reads = DeviceHmmReads(DeviceRagged.upload(batch.reads.bases), *columns, _CONTINUATION)
    groups = HaplotypeGroups(batch.haplotypes, batch.read_offsets, batch.haplotype_offsets)
    return device_log10_likelihoods(reads, groups, device)


def test_as_from_host_memory() -> None:
    batch = made_batch(1, 12)
    np.testing.assert_array_equal(on_device(batch), log10_likelihoods(batch, GPU))


def test_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (needs CuPy)

    batch = made_batch(2, 12)
    whole = log10_likelihoods(batch, CpuDevice(1))
    for cells, bases in ((batch.cells // 20, 1 << 25), (batch.cells, 30)):
        monkeypatch.setattr(cuda, "_PIECE_CELLS", cells)
        monkeypatch.setattr(cuda, "_PIECE_BASES", bases)
        np.testing.assert_allclose(on_device(batch), whole, rtol=0, atol=1e-5)
    # Pieces that do not fit are halved.
    monkeypatch.setattr(cuda, "_PIECE_CELLS", batch.cells)
    monkeypatch.setattr(cuda, "_PIECE_BASES", 1 << 25)
    fits = cuda._fits
    monkeypatch.setattr(cuda, "_fits", lambda piece, *rest: len(piece) < 3 and fits(piece, *rest))
    np.testing.assert_allclose(on_device(batch), whole, rtol=0, atol=1e-5)


def test_likelihoods_too_small_for_float64() -> None:
    rng = np.random.default_rng(3)
    letters = np.frombuffer(b"AC", dtype=np.uint8)
    haplotype = rng.choice(letters, 500).tobytes()
    read = uniform_read(b"G" * 400, 60, 60, 60, _CONTINUATION)
    batch = make_batch([([read], [haplotype])])
    sizes = batch.reads.bases.data.shape
    continuations = np.broadcast_to(np.full(1, _CONTINUATION, dtype=np.uint8), sizes)
    reads = HmmReads(batch.reads.bases, *batch.reads.qualities[:-1], continuations)
    batch = HmmBatch(reads, batch.haplotypes, batch.read_offsets, batch.haplotype_offsets)
    expected = log10_likelihoods(batch, CpuDevice(1))
    assert expected[0] < -400
    np.testing.assert_allclose(on_device(batch), expected, rtol=0, atol=1e-5)
