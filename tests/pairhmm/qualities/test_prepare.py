"""Reads and their parts prepared for the pair-HMM, against GATK's rules in plain Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.options import PcrModel, QualityOptions
from hapgpu.pairhmm.reads.pcr_model import gap_open_limits
from hapgpu.pairhmm.reads.qualities import prepared_parts
from hapgpu.pairhmm.reads.windows import prepared_windows
from tests.pairhmm.made_reads import random_reads, write_sam
from tests.pairhmm.preparation_oracle import LIMITS, Rules, prepare_record

READS = 60


def prepared_reads(batch: ReadBatch, options: QualityOptions, source: str = "reads") -> HmmReads:
    """Return whole reads, prepared."""
    parts = ReadParts.whole(batch, np.arange(len(batch)))
    return prepared_windows(batch, parts, options, source, "add them")


def read_batch(path: Path) -> ReadBatch:
    with open_reads(str(path)) as source:
        (batch,) = source.batches()
    return batch


@pytest.fixture(scope="module")
def sam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = Random(3)  # noqa: S311  (the same data on every run)
    reference = "".join(random.choices("ACGT", weights=(8, 8, 1, 1), k=200))
    lines = random_reads(random, reference, READS, all_kinds=False)
    return write_sam(tmp_path_factory.mktemp("qualities") / "reads.sam", 200, lines)


@pytest.mark.parametrize("model", ["conservative", "aggressive", "hostile"])
def test_the_limits_of_the_models(model: str) -> None:
    expected = [int(word) for word in LIMITS[model].split()]
    assert gap_open_limits(PcrModel(model)).tolist() == expected


@pytest.mark.parametrize("model", PcrModel)
@pytest.mark.parametrize(
    ("cap", "threshold", "gap_open", "continuation"),
    [(True, 18, 45, 10), (False, 18, 6, 0), (True, 6, 39, 127), (False, 40, 127, 1)],
)
def test_as_gatk_prepares_reads(
    sam: Path,
    model: PcrModel,
    cap: bool,
    threshold: int,
    gap_open: int,
    continuation: int,
) -> None:
    options = QualityOptions(
        gap_open=gap_open,
        gap_continuation=continuation,
        pcr_model=model,
        cap_by_mapping_quality=cap,
        base_quality_threshold=threshold,
    )
    prepared = prepared_reads(read_batch(sam), options, "reads")
    rules = Rules(gap_open, continuation, model.value, cap, threshold)
    with pysam.AlignmentFile(str(sam)) as records:
        expected = [prepare_record(record, rules) for record in records]
    assert len(prepared) == len(expected) == READS
    for row, read in enumerate(expected):
        assert prepared.bases[row].tobytes().decode() == read.bases
        columns = [Ragged(c, prepared.bases.offsets)[row].tolist() for c in prepared.qualities]
        assert columns == list(read.qualities)


def test_the_defaults_equal_gatk(sam: Path) -> None:
    batch = read_batch(sam)
    chosen = QualityOptions(
        gap_open=45,
        gap_continuation=10,
        pcr_model=PcrModel.CONSERVATIVE,
        cap_by_mapping_quality=True,
        base_quality_threshold=18,
    )
    default, explicit = (
        prepared_reads(batch, options, "reads") for options in (QualityOptions(), chosen)
    )
    for column, other in zip(default.qualities, explicit.qualities, strict=True):
        np.testing.assert_array_equal(column, other)


@pytest.mark.parametrize("name", ["BI", "BD"])
@pytest.mark.parametrize(
    "field", ["Z:III", "Z:IIIII", "Z:", "Z:II I", "H:1234", "i:4", "B:C,1,2,3,4"]
)
@pytest.mark.parametrize("row", [0, 1])
def test_a_tag_that_does_not_fit(tmp_path: Path, name: str, field: str, row: int) -> None:
    lines = [fine := "fine\t0\tchr\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"]
    lines.insert(row, f"bad{fine[4:]}\tNM:i:0\t{name}:{field}")
    path = write_sam(tmp_path / "reads.sam", 200, lines)
    with pytest.raises(InputError, match=rf"reads\.sam, read 'bad': tag {name} .* 4 qualities"):
        prepared_reads(read_batch(path), QualityOptions(), "reads.sam")


def test_tags_of_some_reads(tmp_path: Path) -> None:
    """A read with one tag, with both in any order, with a second field of a name, and with none."""
    read = "chr\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"
    tags = [
        "BD:Z:0123",
        "XX:Z:BI\tBI:Z:4567",
        "BD:Z:89:;\tXA:A:Z\tBI:Z:<=>?",
        "NM:i:0",
        "BI:Z:@ABC",
    ]
    tags[-1] += "\tBI:Z:bad"
    lines = [f"r\t0\t{read}\t{fields}" for fields in tags]
    batch = read_batch(write_sam(tmp_path / "reads.sam", 200, lines))
    rows = np.array([4, 0, 3, 1, 2, 2])
    parts = ReadParts(rows, np.full(6, 1), np.full(6, 3))
    options = QualityOptions(pcr_model=PcrModel.NONE)
    prepared = prepared_parts(batch, parts, options, "reads")
    insertions, deletions = (column.reshape(6, 2).tolist() for column in prepared.qualities[1:3])
    none = [45, 45]
    assert insertions == [[32, 33], none, none, [20, 21], [28, 29], [28, 29]]
    assert deletions == [none, [16, 17], none, none, [24, 25], [24, 25]]


@pytest.mark.parametrize("model", PcrModel)
def test_windows_have_the_qualities_of_their_reads(sam: Path, model: PcrModel) -> None:
    batch, options = read_batch(sam), QualityOptions(pcr_model=model)
    whole = prepared_reads(batch, options)
    random = np.random.default_rng(5)
    rows = random.integers(0, len(batch), 3 * READS)
    starts = random.integers(0, batch.bases.lengths_of(rows))
    ends = random.integers(starts, batch.bases.lengths_of(rows)) + 1
    parts = ReadParts(rows, starts, ends)
    windows = prepared_windows(batch, parts, options, "reads", "add them")
    expected = whole.gather(whole.bases.offsets[rows] + starts, ends - starts)
    np.testing.assert_array_equal(windows.bases.offsets, expected.bases.offsets)
    np.testing.assert_array_equal(windows.bases.data, expected.bases.data)
    for column, other in zip(windows.qualities, expected.qualities, strict=True):
        np.testing.assert_array_equal(column, other)


@pytest.mark.parametrize("model", PcrModel)
def test_whole_reads_are_parts(sam: Path, model: PcrModel) -> None:
    batch, options = read_batch(sam), QualityOptions(pcr_model=model)
    parts = ReadParts.whole(batch, np.arange(len(batch)))
    whole, prepared = prepared_parts(batch, parts, options, "reads"), prepared_reads(batch, options)
    for column, other in zip(whole.qualities, prepared.qualities, strict=True):
        np.testing.assert_array_equal(column, other)


def test_given_base_qualities_replace_those_of_the_records(sam: Path) -> None:
    batch = read_batch(sam)
    qualities = np.random.default_rng(2).integers(0, 60, batch.bases.data.size, dtype=np.uint8)
    changed = replace(batch, qualities=Ragged(qualities, batch.bases.offsets))
    rows = np.flatnonzero(batch.bases.lengths > 2)
    parts = ReadParts(rows, np.ones(rows.size, np.int64), batch.bases.lengths_of(rows))
    given = Ragged.gather(qualities, batch.bases.offsets[rows] + parts.starts, parts.lengths)
    options = QualityOptions()
    prepared = prepared_parts(batch, parts, options, "reads", given)
    expected = prepared_parts(changed, parts, options, "reads")
    for column, other in zip(prepared.qualities, expected.qualities, strict=True):
        np.testing.assert_array_equal(column, other)


def test_a_read_without_base_qualities(tmp_path: Path) -> None:
    fine = "fine\t0\tchr\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"
    path = write_sam(tmp_path / "reads.sam", 200, [fine, f"bad{fine[4:-4]}*"])
    batch = read_batch(path)
    with pytest.raises(InputError, match=r"reads\.sam, read 'bad': no base qualities.*; add them"):
        prepared_reads(batch, QualityOptions(), "reads.sam")
    first = ReadParts.whole(batch, np.zeros(1, dtype=np.int64))
    assert len(prepared_windows(batch, first, QualityOptions(), "reads.sam", "add them")) == 1
