"""Confidence of the positions of regions: which regions belong to a segment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.output.reference_positions import CalledRegions, reference_positions
from hapgpu.calling.reads.finalized import finalized_reads
from tests.calling.events.made_haplotypes import regions_of
from tests.calling.reads.made_segments import made_row, segment_of


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
