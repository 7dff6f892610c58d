"""Reads of segments for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.calling.segments import segment_reads


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
