"""Parts of reads prepared for the pair-HMM on the GPU, against the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.decode import encode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
from hapgpu.pairhmm.qualities.prepare import QualityOptions, prepared_parts
from hapgpu.realign.queries.orientations import queries_of
from hapgpu.runtime.pool import Pool
from tests.pairhmm.made_reads import random_reads, write_sam

pytestmark = pytest.mark.gpu


@dataclass(frozen=True)
class Made:
    """Reads with bases and qualities, and their header."""

    header: SamHeader
    reads: ReadBatch


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Make reads with tags of recalibration, in repeats of all kinds."""
    random = Random(4)  # noqa: S311  (the same data on every run)
    unit = "".join(random.choices("ACGT", weights=(8, 8, 1, 1), k=150))
    reference = unit + "A" * 60 + "ACG" * 30 + "ACGTACTT" * 12 + "TTTTTTG" * 9
    lines = random_reads(random, reference, 150, all_kinds=False)
    path = tmp_path_factory.mktemp("parts") / "reads.sam"
    with open_reads(write_sam(path, len(reference), lines)) as source:
        (reads,) = source.batches()
        # The quality * of a single base means no qualities.
        first = reads.qualities.data[reads.qualities.offsets[:-1]]
        return Made(source.header, reads.take(first != MISSING_QUALITY))


def prepared(made: Made, parts: ReadParts, options: QualityOptions) -> Any:
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.qualities import cuda  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.queries.cuda import device_queries  # noqa: PLC0415  (needs CuPy)

    with Pool(1) as pool:
        records = DeviceRecords.upload(encode_block(made.reads, made.header, pool))
    rows, starts, ends = (
        cupy.asarray(column) for column in (parts.reads, parts.starts, parts.ends)
    )
    on_gpu = cuda.DeviceParts(rows, rows, cupy.zeros(rows.size, dtype=np.bool_), starts, ends)
    return cuda.prepared_parts(records, device_queries(records).bases, on_gpu, options)


def random_parts(reads: ReadBatch) -> ReadParts:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, len(reads), 300)
    lengths = reads.bases.lengths[rows]
    starts = (rng.random(rows.size) ** 3 * lengths).astype(np.int64)
    ends = starts + 1 + ((lengths - starts - 1) * rng.random(rows.size) ** 0.3).astype(np.int64)
    return ReadParts(rows, starts, ends)


@pytest.mark.parametrize("model", PcrModel)
@pytest.mark.parametrize(
    ("cap", "threshold", "gap_open", "continuation"),
    [(True, 18, 45, 10), (False, 6, 6, 0), (True, 40, 127, 1)],
)
def test_as_on_the_cpu(
    made: Made, model: PcrModel, cap: bool, threshold: int, gap_open: int, continuation: int
) -> None:
    options = QualityOptions(gap_open, continuation, model, cap, threshold)
    everything = ReadParts.whole(made.reads, np.arange(len(made.reads)))
    for parts in (everything, random_parts(made.reads)):
        expected = prepared_parts(made.reads, parts, options, "x.sam")
        found = prepared(made, parts, options)
        assert found.gap_continuation == continuation
        assert found.bases.download().offsets.tolist() == expected.bases.offsets.tolist()
        columns = (expected.bases.data, *expected.qualities[:-1])
        for column, other in zip(found.columns, columns, strict=True):
            np.testing.assert_array_equal(column.get(), other)


def test_reversed_reads_of_unmapped_records(made: Made) -> None:
    """Tags and mapping quality of an unmapped read are not used."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.qualities import cuda  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.queries.cuda import device_queries  # noqa: PLC0415  (needs CuPy)

    made.reads.flags[::2] |= 4
    try:
        queries = queries_of(made.reads)
        with Pool(1) as pool:
            records = DeviceRecords.upload(encode_block(made.reads, made.header, pool))
    finally:
        made.reads.flags[::2] &= np.uint16(0xFFFF - 4)
    count, unmapped = len(made.reads), np.arange(0, len(made.reads), 2)
    rows = np.arange(count, len(queries.bases))
    lengths = made.reads.bases.lengths[unmapped]
    parts = cuda.DeviceParts(
        cupy.asarray(rows),
        cupy.asarray(unmapped),
        cupy.ones(rows.size, dtype=np.bool_),
        cupy.zeros(rows.size, dtype=np.int64),
        cupy.asarray(lengths),
    )
    options = QualityOptions(pcr_model=PcrModel.NONE)
    found = cuda.prepared_parts(records, device_queries(records).bases, parts, options)
    assert found is not None
    expected = queries.qualities.take(rows).data
    np.testing.assert_array_equal(found.base_qualities.get(), np.where(expected < 18, 6, expected))
    np.testing.assert_array_equal(found.bases.data.get(), queries.bases.take(rows).data)
    assert set(found.insertion_qualities.get().tolist()) == {45}
    assert set(found.deletion_qualities.get().tolist()) == {45}


@pytest.mark.parametrize(
    "tag", ["BI:Z:II", "BD:Z:III I", "BI:i:7", "BD:Z:IIII\x1f", "BD:A:c", None]
)
def test_reads_without_sound_qualities(tag: str | None, tmp_path: Path) -> None:
    qualities = "IIIII" if tag else "*"
    line = f"r\t0\tchr\t1\t60\t5M\t*\t0\t0\tACGTA\t{qualities}\t{tag or 'NM:i:0'}"
    path = write_sam(tmp_path / "x.sam", 100, [line])
    if tag and "\x1f" in tag:
        path = write_sam(tmp_path / "x.sam", 100, [line.replace("\x1f", "I")])
    with open_reads(path) as source:
        (reads,) = source.batches()
        header = source.header
    if tag and "\x1f" in tag:
        reads.tags.data[-2] = 31
    made = Made(header, reads)
    parts = ReadParts.whole(reads, np.zeros(1, dtype=np.int64))
    assert prepared(made, parts, QualityOptions()) is None
