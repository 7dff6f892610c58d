"""The GPU code of mapping when CUDA reports an error; kernels are replaced."""

from __future__ import annotations

from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads
from tests.shortread.made_reads import make_contigs, make_reads, write_fasta
from tests.shortread.search_oracle import assert_same_hits, pack

CONTIGS = make_contigs()
READS = [read for group in make_reads(CONTIGS, each=2).values() for read in group]
GPU = CudaDevice(0, "stand-in")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    return build_index(write_fasta(tmp_path_factory.mktemp("i") / "i.fa", CONTIGS), CpuDevice())


@pytest.fixture
def cupy() -> ModuleType:
    module: ModuleType = pytest.importorskip("cupy")
    return module


def test_slices_of_packed_reads() -> None:
    whole = pack(READS)
    for start, end in ((0, 0), (0, 3), (5, 9), (len(READS) - 1, len(READS)), (0, len(READS))):
        part, expected = whole.slice(start, end), pack(READS[start:end])
        np.testing.assert_array_equal(part.words, expected.words)
        np.testing.assert_array_equal(part.word_offsets, expected.word_offsets)
        np.testing.assert_array_equal(part.lengths, expected.lengths)


@pytest.mark.parametrize("fitting", [1, 7, 1000])
def test_search_in_pieces(
    index: FMIndexArrays, cupy: ModuleType, monkeypatch: pytest.MonkeyPatch, fitting: int
) -> None:
    from hapgpu.runtime.gpu import parts  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (imports CuPy)

    def searched(_: Any, reads: PackedReads, options: SearchOptions, __: Any) -> HitBatch:
        if len(reads) > fitting:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1)
        return cpu.search(index, reads, options)

    monkeypatch.setattr(cuda, "resident_index", lambda *_: None)
    monkeypatch.setattr(cuda, "active_on", lambda _: nullcontext())
    monkeypatch.setattr(parts, "release_memory", lambda: None)
    monkeypatch.setattr(cuda, "_search_packed", searched)
    reads = pack(READS)
    found = cuda.search(index, reads, SearchOptions(), GPU)
    assert_same_hits(found, cpu.search(index, reads, SearchOptions()))


@pytest.mark.parametrize("fault", ["memory", "device"])
def test_faults_become_device_errors(
    index: FMIndexArrays, cupy: ModuleType, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    from hapgpu.shortread import cuda as run_cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (imports CuPy)

    error, message = {
        "memory": (cupy.cuda.memory.OutOfMemoryError(1, 1), "too little memory; use --device cpu"),
        "device": (cupy.cuda.runtime.CUDARuntimeError(2), "stand-in.* failed"),
    }[fault]

    def fail(*_: Any) -> None:
        raise error

    for module in (cuda, run_cuda):
        monkeypatch.setattr(module, "resident_index", fail)
    with pytest.raises(DeviceError, match=message):
        cuda.search(index, pack(READS[:1]), SearchOptions(), GPU)
    with pytest.raises(DeviceError, match=message):
        run_cuda.CudaMapper(index, SearchOptions(), run_cuda.SamOptions(), GPU)
