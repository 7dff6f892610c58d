"""Lines of SAM written on a GPU: byte for byte those of the CPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import cupy
import numpy as np
import pytest
from cupy.cuda import nvrtc
from numpy.typing import NDArray

from hapgpu.device import CudaDevice
from hapgpu.fmindex.device_index import resident_index
from hapgpu.fmindex.hits import DELETION, INSERTION, UNGAPPED
from hapgpu.fmindex.sam_cpu import format_records
from hapgpu.fmindex.sam_cuda import (
    COUNT_RECORDS,
    LIST_READS,
    MEASURE_LINES,
    WRITE_LINES,
    DeviceFormatter,
    RecordCounts,
)
from hapgpu.fmindex.sam_options import SamOptions
from hapgpu.fmindex.sam_tables import sam_tables
from hapgpu.fmindex.spans import ReadSpans
from hapgpu.fmindex.spans_cuda import DeviceSpans
from hapgpu.kernels import Array, Kernel, Scalar, compile_kernel, read_source, usage
from tests.fmindex.sam_oracle_map import (
    Case,
    Hit,
    Read,
    hit_batch,
    index_of,
    random_case,
    text_of,
)

KERNELS = [COUNT_RECORDS, LIST_READS, MEASURE_LINES, WRITE_LINES]
OPTIONS = [
    SamOptions(),
    SamOptions(best=True, unmapped=False),
    SamOptions(most_hits=2, read_group="lane 1"),
    SamOptions(best=True, most_hits=40),
]
C_TYPES = {
    "unsigned char*": np.uint8,
    "int*": np.int32,
    "long long*": np.int64,
    "unsigned long long*": np.uint64,
    "int": np.int32,
    "long long": np.int64,
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.expression)
def test_kernels_keep_to_registers(kernel: Kernel) -> None:
    for number in sorted({70, 90, 120} & set(nvrtc.getSupportedArchs())):
        used = usage(compile_kernel(kernel, f"sm_{number}"))
        assert used.stack_bytes == used.spill_bytes == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.expression)
def test_parameters_are_those_of_the_source(kernel: Kernel) -> None:
    found = re.search(rf"\b{kernel.expression}\(([^)]*)\) {{", without_comments(kernel.source))
    assert found is not None
    declared = []
    for parameter in found[1].replace("const ", "").split(","):
        words = " ".join(parameter.split())
        dtype = C_TYPES.get(words) or C_TYPES[words.rpartition(" ")[0]]
        declared.append((Array if "*" in words else Scalar, dtype))
    assert declared == [(type(parameter), parameter.dtype) for parameter in kernel.parameters]


def without_comments(source: str) -> str:
    return re.sub(r"/\*.*?\*/", "", read_source(source))


def on_device(spans: ReadSpans) -> DeviceSpans:
    return DeviceSpans(
        *map(cupy.asarray, (spans.name_starts, spans.name_lengths, spans.base_starts)),
        *map(cupy.asarray, (spans.quality_starts, spans.lengths)),
        has_qualities=spans.has_qualities,
        max_length=int(spans.lengths.max(initial=0)),
    )


def lines_on_gpu(
    case: Case, options: SamOptions, bounds: Sequence[int]
) -> list[tuple[NDArray[Any], RecordCounts]]:
    """Write the reads between bounds, one piece each."""
    index = index_of(case.contigs)
    formatter = DeviceFormatter(
        sam_tables(index, options), resident_index(index, CudaDevice(index=0)), 0
    )
    text, spans = text_of(case.reads)
    hits = hit_batch(case.hits)
    arguments = (
        cupy.asarray(text),
        on_device(spans),
        cupy.asarray(hits.offsets),
        cupy.asarray(hits.hits),
    )
    pieces = []
    for first, last in pairwise(bounds):
        lines, counts = formatter.format(*arguments, first=first, last=last)
        pieces.append((lines.get(), counts))
    return pieces


def assert_same(case: Case, options: SamOptions, bounds: Sequence[int] | None = None) -> None:
    text, spans = text_of(case.reads)
    tables = sam_tables(index_of(case.contigs), options)
    expected = format_records(tables, text, spans, hit_batch(case.hits))
    pieces = lines_on_gpu(case, options, bounds or (0, len(case.reads)))
    assert b"".join(lines.tobytes() for lines, _ in pieces) == expected.text.tobytes()
    for name in RecordCounts._fields:
        assert sum(getattr(counts, name) for _, counts in pieces) == getattr(expected, name)


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("has_qualities", [True, False])
@pytest.mark.parametrize("read_count", [0, 1, 31, 700])
def test_random_reads(options: SamOptions, has_qualities: bool, read_count: int) -> None:
    for seed in range(3):
        case = random_case(seed, read_count=read_count, has_qualities=has_qualities)
        assert_same(case, options)


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS)
def test_ranges_of_reads_make_up_the_whole(options: SamOptions) -> None:
    assert_same(random_case(5, read_count=100), options, (0, 0, 1, 33, 64, 99, 100, 100))


@pytest.mark.gpu
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
