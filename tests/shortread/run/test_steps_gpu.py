"""Blocks divided on a GPU because of many hits: the same records as on the CPU."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.output import Divided
from hapgpu.runtime.pipeline import results_of
from hapgpu.shortread.cpu import CpuMapper
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.tables import SamOptions
from hapgpu.shortread.search.cpu import search
from hapgpu.shortread.search.hits import SearchOptions
from tests.shortread.run.hard_reads import block_of, hard_index, hard_reads
from tests.shortread.search_oracle import pack

pytestmark = pytest.mark.gpu

OPTIONS = [
    SamOptions(),
    SamOptions(best=True, max_hits=1, unmapped=False),
    SamOptions(max_hits=3000, read_group="lane 1", secondary_seq=True),
]
BUDGETS = [  # candidate positions, characters, hits of a read, candidate positions at a time
    (1 << 23, 96 << 20, 1 << 23, 1 << 23),
    (1, 1, 1000, 700),
    (9000, 30_000, 2500, 5000),
    (500, 10**7, 10**6, 1 << 23),
    (10**7, 100_000, 700, 1 << 23),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    return hard_index(tmp_path_factory.mktemp("hard"))


@pytest.fixture
def modules() -> tuple[ModuleType, ModuleType]:
    from hapgpu.shortread import cuda as run_cuda  # noqa: PLC0415  (only where there is a GPU)
    from hapgpu.shortread.search.cuda import row_search as search_cuda  # noqa: PLC0415  (as above)

    return run_cuda, search_cuda


def assert_same(
    run_cuda: ModuleType, index: FMIndexArrays, block: ReadBlock, sam: SamOptions
) -> int:
    """Compare the records and counts of a block; return the number of its parts."""
    on_cpu = CpuMapper(index, SearchOptions(), sam)
    expected = TextBlock.joined(list(results_of(on_cpu, block)))
    on_gpu = run_cuda.CudaMapper(index, SearchOptions(), sam, CudaDevice(0))
    parts = list(results_of(on_gpu, block))
    found = TextBlock.joined(parts)
    assert found.text.tobytes() == expected.text.tobytes()
    assert dict(found.counts) == dict(expected.counts)
    return len(parts)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("is_fasta", [False, True])
def test_small_budgets_change_nothing(
    index: FMIndexArrays,
    modules: tuple[ModuleType, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    budget: tuple[int, int, int, int],
    options: SamOptions,
    is_fasta: bool,
) -> None:
    run_cuda, search_cuda = modules
    rows, text, kept, at_a_time = budget
    monkeypatch.setattr(run_cuda, "_MAX_ROWS", rows)
    monkeypatch.setattr(run_cuda, "_MAX_TEXT", text)
    monkeypatch.setattr(run_cuda, "_MAX_HITS", kept)
    monkeypatch.setattr(search_cuda, "_CANDIDATES_PER_STEP", at_a_time)
    reads = hard_reads(index)
    if text == 1:  # one part per record
        hits = np.diff(search(index, pack(reads), SearchOptions()).offsets)
        reads = [read for read, count in zip(reads, hits.tolist(), strict=True) if count < 100]
    block = block_of(reads, is_fasta=is_fasta)
    parts = assert_same(run_cuda, index, block, options)
    if budget == BUDGETS[0]:
        assert parts == 1
    elif options.max_hits is None:
        assert parts > 1


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_read_and_no_reads(
    index: FMIndexArrays,
    modules: tuple[ModuleType, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    options: SamOptions,
) -> None:
    run_cuda, _ = modules
    monkeypatch.setattr(run_cuda, "_MAX_ROWS", 100)
    monkeypatch.setattr(run_cuda, "_MAX_TEXT", 10_000)
    monkeypatch.setattr(run_cuda, "_MAX_HITS", 999)
    for reads in (["A" * 30], ["A" * 20 + "CCCCGGGGCCCCGGGG"], ["T" * 12], ["GATTACA" * 5], []):
        assert_same(run_cuda, index, block_of(reads), options)


def test_parts_of_a_block_in_gpu_memory(
    index: FMIndexArrays,
    modules: tuple[ModuleType, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    from hapgpu.io.fastx.cuda import DeviceBlock  # noqa: PLC0415  (as above)

    run_cuda, _ = modules
    monkeypatch.setattr(run_cuda, "_MAX_ROWS", 3000)
    block = block_of(hard_reads(index))
    whole = TextBlock.joined(
        list(results_of(CpuMapper(index, SearchOptions(), SamOptions()), block))
    )
    mapper = run_cuda.CudaMapper(index, SearchOptions(), SamOptions(), CudaDevice(0))
    on_device = DeviceBlock(cupy.asarray(block.text), is_fasta=False, first=1, name="hard.fq")
    cupy.cuda.get_current_stream().synchronize()  # the mapper has a stream of its own
    outcome = mapper(on_device)
    assert isinstance(outcome, Divided)
    assert on_device.on_device is None
    parts = [outcome.result, *(r for part in outcome.rest for r in results_of(mapper, part))]
    np.testing.assert_array_equal(TextBlock.joined(parts).text, whole.text)
