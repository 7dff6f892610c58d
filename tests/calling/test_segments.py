"""Reads of segments for tests, and records that do not depend on segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.calling.accuracy.clipped_samples import clipped_sample
from tests.calling.segments import segment_reads
from tests.cli.call.command import records_in
from tests.cli.call.test_same_calls import calls_of
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import SampleFiles


def test_reads_of_two_samples(data_dir: Path) -> None:
    files = [
        data_dir / "illumina_na12878" / f"{name}.chr20.dev.bam" for name in ("NA12878", "HG002")
    ]
    found = segment_reads(files, "chr20", 10_010_000, 10_012_000)
    alone = segment_reads(files[1], "chr20", 10_010_000, 10_012_000)
    assert (found.window_start, found.window_end) == (10_008_000, 10_013_000)
    assert found.reference.start == 10_007_300
    assert found.reference.end == 10_013_700
    assert (np.diff(found.reads.positions) >= 0).all()
    assert found.samples.tolist().count(1) == len(alone.reads)
    of_second = found.reads.take(found.samples == 1)
    assert np.array_equal(of_second.bases.data, alone.reads.bases.data)


@pytest.fixture(scope="module")
def clipped(tmp_path_factory: pytest.TempPathFactory) -> SampleFiles:
    """Return a sample with duplications and deletions, whose reads are clipped there."""
    directory = tmp_path_factory.mktemp("clipped")
    return clipped_sample(directory, random_text(12_000, 4), 40, 4).files


@pytest.mark.parametrize(
    "size",
    [
        *(300, 1511),
        *(pytest.param(size, marks=pytest.mark.exhaustive) for size in (97, 499, 701, 3000, 7001)),
    ],
)
def test_records_do_not_depend_on_segments(clipped: SampleFiles, size: int) -> None:
    whole = calls_of([clipped.reads], clipped.reference, segment_size=12_000)
    rows = records_in(whole.decode())
    changes = [len(alternative) - len(row[3]) for row in rows for alternative in row[4].split(",")]
    assert max(changes) > 50
    assert min(changes) < -50
    assert calls_of([clipped.reads], clipped.reference, segment_size=size) == whole
