"""Reads clipped to loci on the GPU, with their fragments, against the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.genotyping.batches import ClippedReads
from hapgpu.genotyping.reads.clipped_reads import clipped_reads_of
from hapgpu.haplotypes.batches import Loci
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.pool import Pool
from tests.genotyping.device_evidence import on_host
from tests.genotyping.evidence.test_clipped_reads import (
    LOCI,
    READS,
    Interval,
    loci_of_intervals,
    mapped,
)
from tests.genotyping.short_reads import ShortRead, batch_of
from tests.io.bam.encoded_blocks import encode_block

pytestmark = pytest.mark.gpu

HEADER = SamHeader.from_references(("chr20",), (63_025_520,))


def on_gpu(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    files: NDArray[np.int32],
    loci: Loci,
    margin: int,
    min_bases: int,
) -> ClippedReads:
    cupy = pytest.importorskip("cupy")
    from hapgpu.genotyping.reads.cuda.evidence import (  # noqa: PLC0415  (needs CuPy)
        DeviceLoci,
        clipped_device_reads,
        locus_columns,
    )
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (as above)

    with Pool(1) as pool:
        records = DeviceRecords.upload(encode_block(reads, HEADER, pool))
    origins = samples.astype(np.int64) * (files.max(initial=0) + 1) + files
    columns = (cupy.asarray(np.ascontiguousarray(column)) for column in locus_columns(loci))
    kept, clipped = clipped_device_reads(
        records,
        cupy.asarray(samples),
        cupy.asarray(origins),
        DeviceLoci(*columns),
        margin,
        min_bases,
    )
    rows = np.flatnonzero(np.isin(records.layout.starts.get(), kept.layout.starts.get()))
    found = on_host(clipped)
    return replace(found, reads=rows[found.reads])


def check(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    files: NDArray[np.int32],
    intervals: Sequence[Interval],
    margin: int,
    min_bases: int,
) -> ClippedReads:
    """Compare with the CPU; return the clipped reads."""
    arguments = (reads, samples, files, loci_of_intervals(intervals), margin, min_bases)
    expected, found = clipped_reads_of(*arguments), on_gpu(*arguments)
    for field in fields(ClippedReads):
        column, expected_column = getattr(found, field.name), getattr(expected, field.name)
        assert column.dtype == expected_column.dtype, field.name
        np.testing.assert_array_equal(column, expected_column, field.name)
    return found


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(READS, st.integers(0, 2), st.integers(0, 1)), max_size=12),
    loci=LOCI,
    margin=st.integers(0, 9),
    min_bases=st.integers(1, 4),
)
def test_random_reads(
    rows: list[tuple[ShortRead, int, int]], loci: list[Interval], margin: int, min_bases: int
) -> None:
    reads = batch_of([read for read, *_ in rows])
    samples = np.array([sample for _, sample, _ in rows], dtype=np.int32)
    files = np.array([file for *_, file in rows], dtype=np.int32)
    check(reads, samples, files, loci, margin, min_bases)


def test_many_names_and_origins() -> None:
    random = np.random.default_rng(2)
    names = [f"r{number}" if number else "*" for number in random.integers(0, 300, 2000)]
    rows = zip(names, random.integers(0, 900, 2000).tolist(), strict=True)
    reads = batch_of([ShortRead(name, position, "100M") for name, position in rows])
    samples, files = random.integers(0, 3, (2, 2000)).astype(np.int32)
    loci = [(start, start + 30) for start in range(50, 900, 45)]
    assert len(check(reads, samples, files, loci, 60, 10)) > 2000


def test_origins_with_large_numbers() -> None:
    """Loci times origins are more than 31 bits."""
    reads = batch_of([ShortRead(name, 10, "20M") for name in "abba"])
    samples = np.array([2**30, 5, 5, 2**30], dtype=np.int32)
    files = np.zeros(4, dtype=np.int32)
    found = check(reads, samples, files, [(12, 13), (14, 15), (16, 17)], 3, 1)
    assert found.fragment_offsets.size - 1 == 6


@pytest.mark.parametrize("sample", ["HG002", "NA12878"])
def test_real_reads(data_dir: Path, sample: str) -> None:
    reads = mapped(data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam")
    starts = np.random.default_rng(4).integers(10_000_000, 10_050_000, 300)
    loci = [(start, start + 1 + start % 40) for start in starts.tolist()]
    zeros = np.zeros(len(reads), dtype=np.int32)
    assert len(check(reads, zeros, zeros, loci, 60, 10)) > 1000
