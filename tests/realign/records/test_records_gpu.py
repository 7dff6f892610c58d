"""Finished records on the GPU, byte for byte as on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import cupy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import OutputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.realign.records.build import NewAlignments, realigned_records
from hapgpu.realign.records.cuda import finished_records
from hapgpu.runtime.gpu.context import download_pinned
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_records
from tests.realign.records.made_records import (
    CONTIGS,
    OUTPUT_CONTIGS,
    block_of,
    long_record_bytes,
    new_alignments,
    record_bytes,
    split_records,
)

pytestmark = pytest.mark.gpu

COMPLEMENTS = str.maketrans("ACGTMRWSYKVHDBN", "TGCAKYWSRMBDHVN")


def oriented(reads: ReadBatch, is_reversed: NDArray[np.bool_]) -> tuple[Ragged, Ragged]:
    """Return bases and qualities, some of them reversed."""
    bases = [
        row.tobytes().decode().translate(COMPLEMENTS)[::-1] if reverse else row.tobytes()
        for row, reverse in zip(reads.bases, is_reversed, strict=True)
    ]
    qualities = [
        row[::-1].tobytes() if reverse else row.tobytes()
        for row, reverse in zip(reads.qualities, is_reversed, strict=True)
    ]
    return Ragged.from_sequences(bases), Ragged.from_sequences(qualities)


def on_host(
    block: RecordBlock,
    rows: NDArray[np.int64],
    new: NewAlignments[Ragged],
    contigs: Ragged,
    references: int,
) -> bytes:
    names = [f"c{number}" for number in range(references)]
    header = SamHeader.from_references(names, [1000] * references)
    with Pool(1) as pool:
        reads = decode_block(block, pool).take(rows)
        bases, qualities = oriented(reads, new.mapped & new.is_reversed)
        records = realigned_records(reads, bases, qualities, new, contigs, "reads.bam")
        return encode_records(records, header, pool).tobytes()


def on_gpu(
    block: RecordBlock,
    rows: NDArray[np.int64],
    new: NewAlignments[Ragged],
    contigs: Ragged,
    references: int,
) -> bytes:
    data, offsets = finished_records(
        DeviceRecords.upload(block),
        NewAlignments(
            rows=cupy.asarray(rows),
            mapped=cupy.asarray(new.mapped),
            kept=cupy.asarray(new.kept),
            reference_ids=cupy.asarray(new.reference_ids),
            positions=cupy.asarray(new.positions),
            cigars=DeviceRagged.upload(new.cigars),
            is_reversed=cupy.asarray(new.is_reversed),
            is_secondary=cupy.asarray(new.is_secondary),
            scores=cupy.asarray(new.scores),
            second_scores=cupy.asarray(new.second_scores),
            has_second_score=cupy.asarray(new.has_second_score),
            edit_distances=cupy.asarray(new.edit_distances),
            mismatches=DeviceRagged.upload(new.mismatches),
        ),
        DeviceRagged.upload(contigs),
        references,
    )
    found = download_pinned(data).tobytes()
    sizes = np.diff(offsets.get())
    assert [len(record) for record in split_records(found)] == sizes.tolist()
    return found


def assert_same(
    block: RecordBlock,
    rows: NDArray[np.int64],
    new: NewAlignments[Ragged],
    contigs: Ragged | None = None,
    references: int = OUTPUT_CONTIGS,
) -> None:
    contigs = Ragged.from_sequences(CONTIGS) if contigs is None else contigs
    expected = split_records(on_host(block, rows, new, contigs, references))
    found = split_records(on_gpu(block, rows, new, contigs, references))
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, row


def some_rows(rng: Random, count: int) -> NDArray[np.int64]:
    """Return row numbers in order, with repeats and without some rows."""
    return np.repeat(np.arange(count), [rng.choice([0, 1, 1, 2]) for _ in range(count)])


@settings(max_examples=40)
@given(rng=st.randoms(use_true_random=False), gap=st.sampled_from([b"", b"x", b"\xff" * 3]))
def test_made_records(rng: Random, gap: bytes) -> None:
    block = block_of([record_bytes(rng) for _ in range(rng.randrange(1, 9))], gap)
    rows = some_rows(rng, len(block))
    assert_same(block, rows, new_alignments(rng, rows.size))


def test_many_made_records() -> None:
    rng = Random(5)  # noqa: S311  (the same on every run)
    block = block_of([record_bytes(rng) for _ in range(3000)])
    rows = some_rows(rng, len(block))
    assert_same(block, rows, new_alignments(rng, rows.size))


def test_no_records() -> None:
    block = block_of([record_bytes(Random(1))])  # noqa: S311  (as above)
    new = new_alignments(Random(1), 0)  # noqa: S311  (as above)
    assert on_gpu(block, np.empty(0, dtype=np.int64), new, Ragged.from_sequences(CONTIGS), 1) == b""


@pytest.mark.parametrize("operations", [65535, 65536, 70001])
def test_long_cigars(operations: int) -> None:
    """Long CIGARs of the old and of the new alignment, of kept and of moved records."""
    rng = Random(operations)  # noqa: S311  (as above)
    block = block_of([long_record_bytes(rng, operations), record_bytes(rng)])
    rows = np.array([0, 0, 0, 1, 1])
    new = new_alignments(rng, rows.size)
    long_row = np.tile(np.array([3 << 4, 2 << 4 | 2], dtype=np.uint32), operations // 2 + 1)
    sizes = [operations, 0, 2, operations, 1]
    new = replace(
        new,
        mapped=np.array([True, False, True, True, True]),
        kept=np.array([False, True, False, False, False]),
        cigars=Ragged.from_lengths(np.concatenate([long_row[:size] for size in sizes]), sizes),
    )
    assert_same(block, rows, new)


def test_contig_missing_from_the_output_header() -> None:
    rng = Random(8)  # noqa: S311  (as above)
    block = block_of([record_bytes(rng) for _ in range(20)])
    rows = np.arange(20)
    new = new_alignments(rng, 20)
    messages = []
    for run in (on_host, on_gpu):
        with pytest.raises(OutputError) as error:
            run(block, rows, new, Ragged.from_sequences(CONTIGS), OUTPUT_CONTIGS - 1)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "contig missing from the output header" in messages[0]


@pytest.mark.parametrize(
    "name",
    [
        "illumina_tiny/NA12878.chr22.tiny.bam",
        "illumina_na12878/HG002.chr20.dev.bam",
    ],
)
def test_real_records(data_dir: Path, name: str) -> None:
    rng = Random(3)  # noqa: S311  (as above)
    with open_reads(str(data_dir / name)) as source:
        block = next(source.blocks())
        block = block.take(np.arange(min(len(block), 4000))).packed()
        contigs = source.header.reference_names
    rows = some_rows(rng, len(block))
    new = new_alignments(rng, rows.size)
    assert_same(block, rows, new, Ragged.from_sequences(contigs), max(len(contigs), OUTPUT_CONTIGS))
