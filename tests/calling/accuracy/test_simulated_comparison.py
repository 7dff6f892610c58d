"""`hapgpu call` and bcftools on a simulated sample, whose reads minimap2 aligns."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hapgpu.simulation.paired_reads import PairedReadModel
from tests.calling.accuracy.simulated_comparison import (
    CLASSES,
    VARIANTS,
    Sample,
    Tile,
    compared,
    counts_of,
    simulated,
)

LENGTH = 300_000


@pytest.mark.exhaustive
@pytest.mark.skipif(
    not all(map(shutil.which, ("minimap2", "samtools", "bcftools"))), reason="a tool is missing"
)
def test_no_class_is_below_bcftools(data_dir: Path, tmp_path: Path) -> None:
    tile = Tile.of(data_dir / "illumina_na12878" / "chr20.hg19.fa.gz", LENGTH)
    sample = Sample(VARIANTS, PairedReadModel(depth=30.0), "minimap2")
    prepared = simulated(tile, tmp_path, sample, 1)
    ours, theirs = (
        counts_of(compared(caller, prepared, [], tile), tile) for caller in ("hapgpu", "bcftools")
    )
    assert ours.total() > 300
    for name in CLASSES:
        assert ours[name, "missed"] <= theirs[name, "missed"]
        assert ours[name, "right"] >= theirs[name, "right"]
        assert ours[name, "false"] <= theirs[name, "false"]
