"""Confidence of the positions of regions: which regions belong to a segment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.calling.batches import ActiveRegions, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.output.reference_positions import (
    CalledRegions,
    ReferencePositions,
    reference_positions,
)
from hapgpu.calling.ploidies import Ploidies, PloidyRegion
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.genome.regions import Region
from tests.calling.events.made_haplotypes import regions_of
from tests.calling.reads.made_segments import LENGTH, made_row, segment_of


@pytest.mark.parametrize(("segment_start", "start"), [(20, 20), (21, 50), (50, 50), (51, 80)])
def test_active_regions_that_start_in_the_segment(segment_start: int, start: int) -> None:
    """Two active regions without a genotype, at 20 and 50, and an inactive one at 80."""
    made = segment_of([made_row("r", 40, "60M", bases="A" * 60)], [0])
    segment = replace(made, segment=replace(made.segment, start=segment_start))
    active = regions_of((20, 50, 0, 150), (50, 80, 0, 180))
    options = AssemblyOptions()
    reads = finalized_reads(segment, active, options)
    none = np.empty(0, dtype=np.int64)
    called = CalledRegions(none, active.take(none), reads.of_regions(np.zeros(2, dtype=np.bool_)))
    inactive = regions_of((80, 120, 80, 120))
    found = reference_positions(segment, inactive, active, reads, called, options)
    assert found.start == start
    assert found.depths.tolist() == [int(40 <= k < 100) for k in range(start, 120)]


OPTIONS = AssemblyOptions()
ACTIVE = regions_of((20, 50, 0, 150), (50, 80, 0, 180))
INACTIVE = regions_of((80, 120, 80, 120), (120, 140, 120, 140))


def positions_with(ploidies: Ploidies, segment: SegmentReads) -> ReferencePositions:
    """Return the positions 20 to 140: the first active region has the variant span 30 to 40."""
    reads = finalized_reads(segment, ACTIVE, OPTIONS)
    is_called = np.array([True, False])
    spans = regions_of((30, 40, 0, 150))
    called = CalledRegions(np.array([0]), spans, reads.of_regions(is_called))
    columns: tuple[ActiveRegions, ...] = (INACTIVE, ACTIVE)
    return reference_positions(segment, *columns, reads, called, OPTIONS, ploidies=ploidies)


def test_ploidies() -> None:
    """A variant span has the ploidy of its active region, flanks and other regions their own."""
    bases = np.random.default_rng(3).choice(np.frombuffer(b"ACGT", dtype=np.uint8), LENGTH)
    text = bases.tobytes().decode()
    rows = [made_row("r", k, "60M", bases=text[k : k + 60]) for k in range(10, 60, 5)]
    segment = replace(segment_of(rows, [0] * 10), reference=ReferenceSlice(0, bases))
    regions = [
        PloidyRegion(Region("chr1", 45, 46), 3),
        PloidyRegion(Region("chr1", 79, 90), 1),
        PloidyRegion(Region("chr1", 89, 91), 4),
    ]
    found = positions_with(Ploidies.of(2, regions), segment)
    expected = [2] * 10 + [3] * 10 + [3] * 10 + [1] * 30 + [4] * 40 + [2] * 20
    assert found.ploidies.tolist() == expected
    assert found.phreds.shape == (120, 4)
    assert found.phreds[:, 0].max() > 0
    for ploidy in set(expected):
        alone = positions_with(Ploidies(default=ploidy), segment)
        rows = found.ploidies == ploidy
        assert alone.phreds.shape == (120, ploidy)
        assert (found.phreds[rows, :ploidy] == alone.phreds[rows]).all()
        assert (found.depths == alone.depths).all()
        assert (found.alternate_depths == alone.alternate_depths).all()
