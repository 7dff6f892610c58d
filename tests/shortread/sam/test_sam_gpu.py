"""SAM records written on a GPU, byte for byte the same as on the CPU."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.io.fastx.read_block import ReadSpans
from hapgpu.runtime.devices import CudaDevice
from hapgpu.shortread.index.cuda import resident_index
from hapgpu.shortread.sam.cpu import format_records
from hapgpu.shortread.sam.cuda import DeviceFormatter, RecordCounts
from hapgpu.shortread.sam.tables import SamOptions, sam_tables
from hapgpu.shortread.search.cuda.arrays import DeviceHits
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED
from tests.shortread.sam.sam_oracle import (
    Case,
    Hit,
    Read,
    index_of,
    kept_hits,
    random_case,
    text_of,
)

pytestmark = pytest.mark.gpu

OPTIONS = [
    SamOptions(),
    SamOptions(best=True, unmapped=False),
    SamOptions(max_hits=2, read_group="lane 1"),
    SamOptions(best=True, max_hits=40),
    SamOptions(secondary_seq=True),
]


def on_device(spans: ReadSpans) -> DeviceSpans:
    return DeviceSpans(
        *map(cupy.asarray, (spans.name_starts, spans.name_lengths, spans.base_starts)),
        *map(cupy.asarray, (spans.quality_starts, spans.lengths)),
        has_qualities=spans.has_qualities,
    )


def lines_on_gpu(case: Case, options: SamOptions) -> tuple[bytes, RecordCounts]:
    index = index_of(case.contigs)
    formatter = DeviceFormatter(
        sam_tables(index, options), resident_index(index, CudaDevice(index=0)), 0
    )
    text, spans = text_of(case.reads)
    batch = kept_hits(case.hits)
    distances = (cupy.asarray(column.astype(np.int32)) for column in (batch.exact, batch.inexact))
    hits = DeviceHits(cupy.asarray(batch.offsets), cupy.asarray(batch.hits), *distances)
    on_gpu = on_device(spans)
    records, counts = formatter.lay_out(on_gpu, hits)
    assert records.text_ends().tolist()[-1] == records.text_size
    lines = formatter.write(cupy.asarray(text), on_gpu, hits, records)
    return lines.get().tobytes(), counts


def assert_same(case: Case, options: SamOptions) -> None:
    text, spans = text_of(case.reads)
    tables = sam_tables(index_of(case.contigs), options)
    expected, _ = format_records(tables, text, spans, kept_hits(case.hits))
    lines, counts = lines_on_gpu(case, options)
    assert lines == expected.text.tobytes()
    assert {"reads": len(spans), **counts._asdict()} == expected.counts


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("has_qualities", [True, False])
@pytest.mark.parametrize("read_count", [1, 31, 700])
def test_random_reads(options: SamOptions, has_qualities: bool, read_count: int) -> None:
    for seed in range(3):
        case = random_case(seed, read_count=read_count, has_qualities=has_qualities)
        assert_same(case, options)


def test_long_reads_and_many_hits() -> None:
    rng = np.random.default_rng(1)
    reference = "".join(rng.choice(list("ACGTNR"), 200_000))
    reads, hits = [], []
    for number, length in enumerate((10, 33, 5000, 150_000)):
        bases = "".join(rng.choice(list("ACGTacgtN"), length))
        reads.append(Read(f"read{number}", bases, "".join(rng.choice(list("!I~"), length))))
        last = len(reference) - length - 1
        own = {
            Hit(1, int(rng.integers(last)), number % 2, kind, int(rng.integers(length)))
            for kind in (INSERTION, UNGAPPED, DELETION)
            for _ in range(30_000 if length == 33 else 5)
        }
        hits.append(sorted(own | {Hit(0, 7, number % 2, UNGAPPED, 0)}))
    assert_same(Case({"c": reference}, reads, hits, [False] * len(reads)), SamOptions())
