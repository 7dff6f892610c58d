"""Mapping on a GPU in small pieces: little memory, few candidates per step, many hits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hapgpu.errors import DeviceError, InputError
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.pipeline import results_of
from hapgpu.shortread.cpu import CpuMapper
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.tables import SamOptions
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import SearchOptions
from tests.gpu_memory import own_pool
from tests.shortread.made_reads import make_contigs, make_reads, write_fasta
from tests.shortread.search_oracle import assert_same_hits, pack

pytestmark = pytest.mark.gpu

CONTIGS = make_contigs()
READS = [read for group in make_reads(CONTIGS, each=20).values() for read in group]
MIB = 1 << 20


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    fasta = write_fasta(tmp_path_factory.mktemp("made") / "made.fa", CONTIGS)
    return build_index(fasta, CpuDevice())


@pytest.fixture
def limited(index: FMIndexArrays) -> Iterator[Callable[[int], CudaDevice]]:
    """Return a device limited to `size` bytes beside the index."""
    from hapgpu.shortread.index.cuda import resident_index  # noqa: PLC0415  (needs CuPy)

    resident_index(index, CudaDevice(0))
    with own_pool():
        yield lambda size: CudaDevice(0, memory_limit=size)


def block_of(reads: list[str]) -> ReadBlock:
    text = "".join(f"@r{k}\n{read}\n+\n{'I' * len(read)}\n" for k, read in enumerate(reads))
    return ReadBlock(
        np.frombuffer(text.encode(), dtype=np.uint8), is_fasta=False, first=1, name="made.fq"
    )


def test_few_candidates_at_a_time(index: FMIndexArrays, monkeypatch: pytest.MonkeyPatch) -> None:
    from hapgpu.shortread.search.cuda import row_search  # noqa: PLC0415  (only where there is a GPU)
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (as above)

    reads = pack(READS)
    expected = cpu.search(index, reads, SearchOptions())
    for few in (1, 100, 1000):
        some = reads if few > 1 else pack(READS[:3])
        monkeypatch.setattr(row_search, "_CANDIDATES_PER_STEP", few)
        found = cuda.search(index, some, SearchOptions(), CudaDevice(0))
        assert_same_hits(found, expected if few > 1 else cpu.search(index, some, SearchOptions()))


def test_many_hits_of_a_read(index: FMIndexArrays, monkeypatch: pytest.MonkeyPatch) -> None:
    from hapgpu.shortread.search.cuda import row_search  # noqa: PLC0415  (only where there is a GPU)
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (as above)

    reads = pack(READS)
    monkeypatch.setattr(row_search, "_RANKED_HITS", 3)
    found = cuda.search(index, reads, SearchOptions(), CudaDevice(0))
    assert_same_hits(found, cpu.search(index, reads, SearchOptions()))


@pytest.mark.parametrize("surveyed", [0, 64])
@pytest.mark.parametrize("most", [1, 2, 7])
def test_the_least_of_many_hits(
    index: FMIndexArrays, most: int, surveyed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (only where there is a GPU)
    from hapgpu.shortread.search.cuda import row_search  # noqa: PLC0415  (as above)

    monkeypatch.setattr(row_search, "_RANKED_HITS", 3)
    monkeypatch.setattr(row_search, "_MAX_KEPT", surveyed)
    for only_best in (False, True):
        options = SamOptions(max_hits=most, best=only_best)
        block = block_of(READS)
        on_cpu = CpuMapper(index, SearchOptions(), options)
        whole = TextBlock.joined(list(results_of(on_cpu, block)))
        mapper = CudaMapper(index, SearchOptions(), options, CudaDevice(0))
        found = TextBlock.joined(list(results_of(mapper, block)))
        assert found.text.tobytes() == whole.text.tobytes()
        assert found.counts == whole.counts


def test_little_memory_splits_blocks(
    index: FMIndexArrays,
    limited: Callable[[int], CudaDevice],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hapgpu.shortread import cuda as run_cuda  # noqa: PLC0415  (only where there is a GPU)

    block = block_of(READS * 60)
    splits = []
    halves = ReadBlock.halves
    monkeypatch.setattr(
        ReadBlock, "halves", lambda block: splits.append(block.first) or halves(block)
    )
    on_cpu = CpuMapper(index, SearchOptions(), SamOptions())
    whole = TextBlock.joined(list(results_of(on_cpu, block)))
    mapper = run_cuda.CudaMapper(index, SearchOptions(), SamOptions(), limited(24 * MIB))
    found = TextBlock.joined(list(results_of(mapper, block)))
    assert splits
    assert found.text.tobytes() == whole.text.tobytes()
    assert found.counts == whole.counts


def test_workers_wait_for_memory_before_they_split_blocks(
    index: FMIndexArrays,
    limited: Callable[[int], CudaDevice],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (as above)

    block = block_of(READS[:100])
    whole = CudaMapper(index, SearchOptions(), SamOptions(), CudaDevice(0))(block)
    pool = cupy.get_default_memory_pool()
    mapper = CudaMapper(index, SearchOptions(), SamOptions(), limited(pool.total_bytes()))
    monkeypatch.setattr(ReadBlock, "halves", lambda _: pytest.fail("split"))
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(mapper, [block] * 8):
            assert found.text.tobytes() == whole.text.tobytes()


def test_a_read_that_does_not_fit(
    index: FMIndexArrays, limited: Callable[[int], CudaDevice]
) -> None:
    from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (as above)

    mapper = CudaMapper(index, SearchOptions(), SamOptions(), limited(2 * MIB))
    with pytest.raises(DeviceError, match=r"made.fq, record 1: .*--gpu-mem"):
        mapper(block_of(["ACGT" * 200_000]))


def test_an_index_that_does_not_fit(tmp_path: Path) -> None:
    from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (as above)

    fresh = build_index(write_fasta(tmp_path / "made.fa", CONTIGS), CpuDevice())
    with pytest.raises(DeviceError, match="--low-memory"):
        CudaMapper(fresh, SearchOptions(), SamOptions(), CudaDevice(0, memory_limit=1000))


def test_faults_are_reported_as_on_the_cpu(index: FMIndexArrays) -> None:
    from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (as above)

    mapper = CudaMapper(index, SearchOptions(), SamOptions(), CudaDevice(0))
    block = ReadBlock(
        np.frombuffer(b"@a\nAC\n+\nIII\n", np.uint8), is_fasta=False, first=7, name="bad.fq"
    )
    with pytest.raises(InputError, match=r"bad.fq, record 7 'a'"):
        mapper(block)
