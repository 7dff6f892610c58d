"""Clips and lengths of CIGARs on the GPU against the CPU, also of records in a CG tag."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar import clips as on_cpu
from hapgpu.cigar.clips import Clips
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from tests.cigar.made_alignments import LONG_READ, block_of, made_cigars, made_reads
from tests.io.sam_oracle import batch_of

pytestmark = pytest.mark.gpu


def equal(found: Any, expected: np.ndarray[Any, Any]) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.get(), expected)


def equal_rows(found: Any, expected: Ragged) -> None:
    equal(found.data, expected.data)
    equal(found.offsets, expected.offsets)


def check(reads: ReadBatch) -> None:
    from hapgpu.cigar import cuda  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)

    records = DeviceRecords.upload(block_of(reads))
    equal_rows(cuda.cigars_of(records), reads.cigars)
    spans = reference_lengths(reads.cigars)
    equal(cuda.record_reference_lengths(records), spans)
    equal(cuda.reference_lengths(cuda.cigars_of(records)), spans)
    found, expected = cuda.clips_of(records, "x"), on_cpu.clips_of(reads, "x")
    for field in fields(Clips):
        equal(getattr(found, field.name), getattr(expected, field.name))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), count=st.sampled_from([0, 1, 33, 200]))
def test_made_reads(seed: int, count: int) -> None:
    check(made_reads(seed, count))


def test_long_cigar() -> None:
    check(batch_of([LONG_READ, LONG_READ]))


def test_real_reads(data_dir: Path) -> None:
    with open_reads(str(data_dir / "illumina_tiny" / "NA12878.chr22.tiny.bam")) as reads:
        for batch in reads.batches():
            check(batch)


def test_more_clips_than_bases() -> None:
    """A checked record cannot have them; the lengths are changed afterwards."""
    from hapgpu.cigar.cuda import clips_of  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)

    records = DeviceRecords.upload(block_of(batch_of([LONG_READ] * 3)))
    records.layout.base_counts[1:] = 8
    with pytest.raises(InputError, match="x, read 'long': fewer bases than its CIGAR clips"):
        clips_of(records, "x")


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([0, 1, 33, 200]),
    longest=st.sampled_from([0, 1, 3]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_hard_clips(seed: int, count: int, longest: int, share: float) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.cigar.cuda import with_hard_clips  # noqa: PLC0415  (needs CuPy)

    rng = np.random.default_rng(seed)
    cigars = made_cigars(rng, count, longest, 50)
    ends = [
        np.where(rng.random(count) < share, rng.integers(0, 1 << 28, count), 0).astype(np.int32)
        for _ in range(2)
    ]
    found = with_hard_clips(DeviceRagged.upload(cigars), *map(cupy.asarray, ends))
    equal_rows(found, on_cpu.with_hard_clips(cigars, *ends))
