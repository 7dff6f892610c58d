"""Likelihoods of batches in GPU memory, against the same batches from host memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch, uniform_column
from hapgpu.pairhmm.forward.cpu import exact_log10_likelihoods
from hapgpu.runtime.devices import CudaDevice
from tests.pairhmm.hmm_oracle import make_batch, random_group, uniform_read

pytestmark = pytest.mark.gpu


def mixed_batch(seed: int) -> HmmBatch:
    """Make groups of all sizes, some without reads or haplotypes, with one gap continuation."""
    rng = np.random.default_rng(seed)
    groups = [random_group(rng, longest) for longest in (5, 40, 90) * 4]
    odd = [([uniform_read(b"ACGT", 30, 45, 45, 10)], []), ([], [b"ACGT", b"AC"]), ([], [])]
    batch = make_batch([odd[1], *groups[:5], *odd, *groups[5:], odd[0]])
    continuations = np.full(batch.reads.bases.data.size, 10, dtype=np.uint8)
    reads = replace(batch.reads, gap_continuations=uniform_column(continuations))
    return replace(batch, reads=reads)


def uploaded(batch: HmmBatch) -> Any:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.cuda import batches as cuda  # noqa: PLC0415  (as above)

    base, insertion, deletion, gap = batch.reads.qualities
    reads = cuda.DeviceHmmReads(
        DeviceRagged.upload(batch.reads.bases),
        cupy.asarray(base),
        cupy.asarray(insertion),
        cupy.asarray(deletion),
        int(gap[0]),
    )
    offsets = (cupy.asarray(batch.read_offsets), cupy.asarray(batch.haplotype_offsets))
    haplotypes = DeviceRagged.upload(batch.haplotypes)
    return cuda.DeviceHmmBatch.of(reads, haplotypes, *offsets)


def check(batch: HmmBatch, device: CudaDevice) -> None:
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (needs CuPy)

    found = cuda.device_log10_likelihoods(uploaded(batch), device)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.get(), cuda.log10_likelihoods(batch, device))


@pytest.mark.parametrize("cells", [None, 200, 20_000])
def test_pieces_of_any_size(cells: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (needs CuPy)

    if cells is not None:
        monkeypatch.setattr(cuda, "_PIECE_CELLS", cells)
    check(mixed_batch(1), CudaDevice(0))


def test_too_little_memory_for_whole_pieces() -> None:
    check(mixed_batch(2), CudaDevice(0, memory_limit=200_000))


def test_likelihoods_too_small_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host computes them; a base of quality 0 never matches."""
    pytest.importorskip("cupy")
    from hapgpu.pairhmm.forward import cuda  # noqa: PLC0415  (needs CuPy)

    computed = []

    def exact(batch: HmmBatch, rows: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        computed.append(rows.tolist())
        return exact_log10_likelihoods(batch, rows, threads)

    monkeypatch.setattr(cuda, "exact_log10_likelihoods", exact)
    good, bad = (uniform_read(b"A" * 30, base, 45, 45, 10) for base in (30, 0))
    batch = make_batch([([good], [b"C" * 40]), ([good, bad], [b"A" * 30, b"AA"])])
    continuations = uniform_column(np.full(90, 10, dtype=np.uint8))
    check(
        replace(batch, reads=replace(batch.reads, gap_continuations=continuations)), CudaDevice(0)
    )
    assert computed == [[3, 4], [3, 4]]


def test_sizes_of_slices() -> None:
    """Slices of a batch have the sizes of the same slices of the batch in host memory."""
    batch = mixed_batch(3)
    on_gpu = uploaded(batch)
    for start, end in ((0, len(batch)), (3, 3), (4, 9), (len(batch) - 3, len(batch))):
        found, expected = on_gpu.slice(start, end), batch.slice(start, end)
        found = found.slice(0, len(found))
        assert (found.pairs, found.cells) == (expected.pairs, expected.cells)
        for name in ("pair_offsets", "group_bases", "group_columns", "haplotype_lengths"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
        np.testing.assert_array_equal(found.read_lengths(), expected.read_lengths())
    group = next(k for k in range(len(batch)) if np.diff(batch.read_offsets)[k] > 2)
    found = on_gpu.slice(group, group + 1).some_reads(1, 3)
    expected = batch.slice(group, group + 1).some_reads(1, 3)
    np.testing.assert_array_equal(found.read_lengths(), expected.read_lengths())
    np.testing.assert_array_equal(found.group_bases, expected.group_bases)
