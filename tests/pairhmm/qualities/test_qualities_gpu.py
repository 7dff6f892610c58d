"""Qualities prepared on the GPU from BAM records, against the preparation on the CPU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.pairhmm.options import PcrModel, QualityOptions
from hapgpu.pairhmm.reads.qualities import check_base_qualities, prepared_parts
from hapgpu.realign.selection.queries import queries_of
from tests.cigar.made_alignments import LONG_READ, block_of
from tests.io.sam_oracle import Row, batch_of
from tests.pairhmm.made_reads import write_sam

pytestmark = pytest.mark.gpu

COLUMNS = ("base_qualities", "insertion_qualities", "deletion_qualities", "gap_continuations")
OPTIONS = st.builds(
    QualityOptions,
    gap_open=st.integers(6, 127),
    gap_continuation=st.integers(0, 127),
    pcr_model=st.sampled_from(PcrModel),
    cap_by_mapping_quality=st.booleans(),
    base_quality_threshold=st.integers(6, 60),
)


def made_reads(seed: int, count: int) -> ReadBatch:
    """Make reads with repeats of units of any size, and tags around BI and BD."""
    rng = np.random.default_rng(seed)
    letters = list("ACGTN=R") if seed % 2 else list("AC")
    rows = []
    for number in range(count):
        bases = ""
        while not bases or rng.random() < 0.6:
            unit = "".join(rng.choice(letters, rng.integers(1, 11)))
            bases += unit * int(rng.choice([1, 1, 2, 3, 30]))
        texts = ["".join(chr(c) for c in rng.integers(33, 127, len(bases))) for _ in range(2)]
        tags = [
            ("BI", "Z", texts[0]),
            ("BD", "Z", texts[1]),
            ("NM", "i", -7),
            ("XZ", "Z", ""),
            ("XA", "A", "B"),
        ]
        order = rng.permutation(len(tags))[: rng.integers(0, len(tags) + 1)]
        rows.append(
            Row(
                f"r{number}",
                4,
                -1,
                -1,
                int(rng.choice([0, 5, 17, 20, 60, 255])),
                (),
                -1,
                -1,
                0,
                bases,
                tuple(rng.integers(0, 94, len(bases)).tolist()),
                tuple(tags[k] for k in order),
            )
        )
    return batch_of(rows)


def made_parts(reads: ReadBatch, seed: int) -> ReadParts:
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, len(reads), 2 * len(reads)))
    lengths = reads.bases.lengths[rows]
    starts = rng.integers(0, lengths)
    ends = np.where(rng.random(rows.size) < 0.5, lengths, rng.integers(starts + 1, lengths + 1))
    return ReadParts(rows, starts, ends)


def prepared_on_gpu(
    reads: ReadBatch,
    parts: ReadParts,
    options: QualityOptions,
    is_reversed: np.ndarray[Any, Any] | None = None,
) -> Any:
    cupy = pytest.importorskip("cupy")
    from hapgpu.cigar.cuda import DeviceReadParts  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (as above)
    from hapgpu.pairhmm.reads.cuda.qualities import prepared_device_parts  # noqa: PLC0415  (as above)

    columns = (cupy.asarray(column) for column in (parts.reads, parts.starts, parts.ends))
    reverse = None if is_reversed is None else cupy.asarray(is_reversed)
    records = DeviceRecords.upload(block_of(reads))
    return prepared_device_parts(records, DeviceReadParts(*columns), options, "x.bam", reverse)


def check(found: Any, expected: Any) -> None:
    prepared = found.download()
    np.testing.assert_array_equal(prepared.bases.offsets, expected.bases.offsets)
    np.testing.assert_array_equal(prepared.bases.data, expected.bases.data)
    for name in COLUMNS:
        column, other = getattr(prepared, name), getattr(expected, name)
        assert column.dtype == other.dtype == np.uint8
        np.testing.assert_array_equal(column, other, name)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 7, 40]), options=OPTIONS)
def test_made_reads(seed: int, count: int, options: QualityOptions) -> None:
    reads = made_reads(seed, count)
    parts = made_parts(reads, seed)
    expected = prepared_parts(reads, parts, options, "x.bam")
    check(prepared_on_gpu(reads, parts, options), expected)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_reversed_reads(seed: int) -> None:
    reads = made_reads(seed, 20)
    none = Ragged(np.empty(0, dtype=np.uint8), np.zeros(len(reads) + 1, dtype=np.int64))
    reads = replace(reads, tags=none)
    parts = made_parts(reads, seed)
    is_reversed = np.random.default_rng(seed).random(len(reads)) < 0.5
    rows = np.where(is_reversed, len(reads), 0) + np.arange(len(reads))
    queries = queries_of(reads)
    oriented = replace(
        reads, bases=queries.bases.take(rows), qualities=queries.qualities.take(rows)
    )
    expected = prepared_parts(oriented, parts, QualityOptions(), "x.bam")
    check(prepared_on_gpu(reads, parts, QualityOptions(), is_reversed), expected)


def test_tags_of_a_read_with_a_long_cigar() -> None:
    """The tag that holds the CIGAR is not among the tags, and may be before or after them."""
    bases = len(LONG_READ.bases)
    text = "".join(chr(33 + k % 94) for k in range(bases))
    row = replace(LONG_READ, qualities=(30,) * bases, tags=(("BI", "Z", text), ("BD", "Z", text)))
    reads = batch_of([replace(row, tags=()), row])
    parts = ReadParts(np.array([0, 1, 1]), np.array([3, 0, 9]), np.array([700, bases, 1000]))
    expected = prepared_parts(reads, parts, QualityOptions(), "x.bam")
    check(prepared_on_gpu(reads, parts, QualityOptions()), expected)


def read_batch(path: Path) -> ReadBatch:
    with open_reads(str(path)) as source:
        (batch,) = source.batches()
    return batch


@pytest.mark.parametrize("name", ["BI", "BD"])
@pytest.mark.parametrize(
    "field", ["Z:III", "Z:IIIII", "Z:", "Z:II I", "H:1234", "i:4", "B:C,1,2,3,4"]
)
def test_a_tag_that_does_not_fit(tmp_path: Path, name: str, field: str) -> None:
    fine = "fine\t0\tone\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"
    lines = [
        f"{fine}\tBI:Z:IIII\tBD:Z:IIII",
        f"bad{fine[4:]}\tNM:i:0\t{name}:{field}",
        f"later{fine[4:]}\tBD:i:0\tBI:i:0" if name == "BI" else fine,
    ]
    reads = read_batch(write_sam(tmp_path / "reads.sam", 200, lines).rename(tmp_path / "x.sam"))
    parts = ReadParts.whole(reads, np.arange(3))
    with pytest.raises(InputError) as on_cpu:
        prepared_parts(reads, parts, QualityOptions(), "x.bam")
    with pytest.raises(InputError, match=f"^{re.escape(str(on_cpu.value))}$"):
        prepared_on_gpu(reads, parts, QualityOptions())


def test_reads_without_base_qualities() -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.reads.cuda.qualities import check_device_qualities  # noqa: PLC0415  (as above)

    fine = Row("fine", 4, -1, -1, 0, (), -1, -1, 0, "ACG", (0, 30, 30), ())
    bad = replace(fine, name="bad", qualities=None)
    check_device_qualities(DeviceRecords.upload(block_of(batch_of([fine]))), "x.bam", "remedy")
    reads = batch_of([fine, bad, replace(bad, name="worse")])
    with pytest.raises(InputError) as on_cpu:
        check_base_qualities(reads, "x.bam", "remedy")
    with pytest.raises(InputError, match=f"^{re.escape(str(on_cpu.value))}$"):
        check_device_qualities(DeviceRecords.upload(block_of(reads)), "x.bam", "remedy")
