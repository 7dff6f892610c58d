"""Reads prepared for the pair-HMM, against GATK's rules in plain Python."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.pairhmm.qualities.pcr_model import PcrModel, gap_open_limits
from hapgpu.pairhmm.qualities.prepare import QualityOptions, prepared_reads
from tests.pairhmm.made_reads import random_reads, write_sam
from tests.pairhmm.preparation_oracle import LIMITS, Rules, prepare_record

READS = 60


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
    options = QualityOptions(gap_open, continuation, model, cap, threshold)
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
    chosen = QualityOptions(45, 10, PcrModel.CONSERVATIVE, True, 18)  # noqa: FBT003
    default, explicit = (
        prepared_reads(batch, options, "reads") for options in (QualityOptions(), chosen)
    )
    for column, other in zip(default.qualities, explicit.qualities, strict=True):
        np.testing.assert_array_equal(column, other)


@pytest.mark.parametrize("name", ["BI", "BD"])
@pytest.mark.parametrize(
    "field", ["Z:III", "Z:IIIII", "Z:", "Z:II I", "H:1234", "i:4", "B:C,1,2,3,4"]
)
def test_a_tag_that_does_not_fit(tmp_path: Path, name: str, field: str) -> None:
    fine = "fine\t0\tchr\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"
    path = write_sam(tmp_path / "reads.sam", 200, [fine, f"bad{fine[4:]}\tNM:i:0\t{name}:{field}"])
    with pytest.raises(InputError, match=rf"reads\.sam, read 'bad': tag {name} .* 4 qualities"):
        prepared_reads(read_batch(path), QualityOptions(), "reads.sam")
