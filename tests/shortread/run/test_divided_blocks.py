"""Blocks that a GPU divides because of many hits; the CPU replaces the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans, TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.pipeline import results_of
from hapgpu.shortread.cpu import CpuMapper
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.cpu import Place, format_records
from hapgpu.shortread.sam.tables import RecordCounts, SamOptions, sam_tables
from hapgpu.shortread.search.cpu import search_step
from hapgpu.shortread.search.hits import KeptHits, SearchLimits, SearchOptions
from hapgpu.shortread.search.packed_reads import pack_reads
from tests.shortread.run.hard_reads import block_of, hard_index, hard_reads

GPU = CudaDevice(0, "stand-in")


class OnDevice(np.ndarray):  # type: ignore[type-arg]
    """An array with the method of CuPy that copies it to the host."""

    def get(self) -> NDArray[Any]:
        return np.asarray(self)


class Search:
    """Stand-in of `DeviceSearch`: some candidate positions per hit."""

    def __init__(
        self,
        index: FMIndexArrays,
        reads: Any,
        options: SearchOptions,
        _device: int,
        _most: int | None = None,
    ) -> None:
        packed = pack_reads(reads.text, reads.starts, reads.lengths)
        self._found = search_step(index, packed, options, SearchLimits())
        self._ends = 2 * self._found.offsets + np.arange(len(reads) + 1)
        self.rows = int(self._ends[-1])

    def row_ends(self) -> NDArray[np.int64]:
        return self._ends

    def hits(self) -> KeptHits:
        return self._found

    def least_hits(self, most: int, after: int) -> Any:
        found = self._found
        kept = found.hits[found.hits > after][:most]
        hits = KeptHits(np.array([0, kept.size]), kept, found.exact, found.inexact)
        return LaterHits(hits)


class LaterHits:
    """Stand-in of `DeviceKeptHits`."""

    def __init__(self, kept: KeptHits) -> None:
        self.kept, self.hits = kept, kept.hits
        self.exact, self.inexact = int(kept.exact[0]), int(kept.inexact[0])


class Records:
    """Stand-in of `DeviceSamRecords`: the lines, and the number of lines of each read."""

    def __init__(self, lines: list[bytes], per_read: list[int]) -> None:
        self.lines, self._per_read = lines, per_read
        self.reads = np.zeros(len(lines))
        self.text_size = sum(map(len, lines))

    def text_ends(self) -> NDArray[np.int64]:
        ends = np.cumsum([0, *map(len, self.lines)])
        return ends[np.cumsum([0, *self._per_read])]

    def head(self, max_size: int) -> Records:
        ends = np.cumsum([len(line) for line in self.lines])
        count = max(int((ends <= max_size).sum()), 1)
        return Records(self.lines[:count], [])


def formatter_of(options: SamOptions) -> Callable[..., Any]:
    class Formatter:
        """Stand-in of `DeviceFormatter`."""

        def __init__(self, _: Any, index: FMIndexArrays, __: int) -> None:
            self._tables = sam_tables(index, options)

        def lay_out(self, spans: ReadSpans, hits: KeptHits) -> tuple[Records, RecordCounts]:
            parts = [
                format_records(
                    self._tables,
                    spans.text,  # type: ignore[attr-defined]
                    spans.slice(read, read + 1),
                    KeptHits(
                        hits.offsets[read : read + 2],
                        hits.hits,
                        hits.exact[read : read + 1],
                        hits.inexact[read : read + 1],
                    ),
                )[0]
                for read in range(len(spans))
            ]
            whole = TextBlock.joined(parts)
            counts = RecordCounts(*(whole.counts[name] for name in RecordCounts._fields))
            per_read = [part.text.tobytes().count(b"\n") for part in parts]
            return Records(whole.text.tobytes().splitlines(keepends=True), per_read), counts

        def lay_out_later(
            self, spans: ReadSpans, kept: LaterHits, first: int, start: int
        ) -> tuple[None, Records, RecordCounts]:
            block, _ = format_records(
                self._tables,
                spans.text,  # type: ignore[attr-defined]
                spans,
                kept.kept,
                start=Place(0, start),
                first=first,
            )
            hits = kept.exact if options.best and kept.exact else kept.exact + kept.inexact
            total = min(hits, options.max_hits or hits)
            counts = RecordCounts(1, hits, total, int(total < hits), 0)
            return None, Records(block.text.tobytes().splitlines(keepends=True), []), counts

        def write(self, _: Any, __: Any, ___: Any, records: Records) -> NDArray[np.uint8]:
            return np.frombuffer(b"".join(records.lines), dtype=np.uint8)

    return Formatter


class Spans(ReadSpans):
    """Spans that can be copied to the host, with their text."""

    text: NDArray[np.uint8]


def parsed(block: ReadBlock, *_: Any) -> tuple[NDArray[np.uint8], Spans]:
    spans = parse_block(block, SHORT_READS)
    columns = (spans.name_starts.view(OnDevice), spans.name_lengths, spans.base_starts)
    on_device = Spans(*columns, spans.quality_starts, spans.lengths, spans.has_qualities)
    object.__setattr__(on_device, "text", block.text)
    return block.text, on_device


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    return hard_index(tmp_path_factory.mktemp("hard"))


@pytest.mark.parametrize(
    "options", [SamOptions(), SamOptions(best=True, max_hits=700), SamOptions(max_hits=1)], ids=str
)
@pytest.mark.parametrize(
    ("rows", "text", "hits"), [(1, 3000, 999), (20_000, 10**7, 10**6), (10**7, 3000, 2500)]
)
def test_parts_give_the_records_of_the_whole(
    index: FMIndexArrays,
    monkeypatch: pytest.MonkeyPatch,
    options: SamOptions,
    rows: int,
    text: int,
    hits: int,
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.fastx import cuda as blocks_cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread import cuda as run_cuda  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(blocks_cuda, "_parsed", parsed)
    monkeypatch.setattr(run_cuda, "resident_index", lambda index, _: index)
    monkeypatch.setattr(run_cuda, "DeviceFormatter", formatter_of(options))
    monkeypatch.setattr(run_cuda, "DeviceSearch", Search)
    monkeypatch.setattr(run_cuda, "RowSearch", Search)
    monkeypatch.setattr(run_cuda, "pack_on_device", lambda reads, _device: reads)
    monkeypatch.setattr(run_cuda, "download_pinned", lambda lines: lines)
    monkeypatch.setattr(run_cuda, "_MAX_ROWS", rows)
    monkeypatch.setattr(run_cuda, "_MAX_TEXT", text)
    monkeypatch.setattr(run_cuda, "_MAX_HITS", hits)
    monkeypatch.setattr(run_cuda, "DeviceHits", NoHits)
    block = block_of(hard_reads(index, 30))
    mapper = run_cuda.CudaMapper(index, SearchOptions(), options, GPU)
    divided = list(results_of(mapper._computed, block))
    on_cpu = CpuMapper(index, SearchOptions(), options)
    whole = TextBlock.joined(list(results_of(on_cpu, block)))
    found = TextBlock.joined(divided)
    assert len(divided) > 1
    assert found.text.tobytes() == whole.text.tobytes()
    assert dict(found.counts) == dict(whole.counts)


class NoHits:
    """Stand-in of `DeviceHits` for a read without hits."""

    @staticmethod
    def of_one(hits: NDArray[np.uint64], *_: int) -> KeptHits:
        nothing = np.zeros(1, dtype=np.int64)
        return KeptHits(np.zeros(2, dtype=np.int64), hits, nothing, nothing)
