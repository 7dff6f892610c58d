"""Rounds of base alignment by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from hapgpu.arrays import cuda as device_arrays
from hapgpu.longread.align.batches import MAPPING, AlignedMappings, MappedAnchors
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.align.pipeline import MappingAligner
from hapgpu.longread.options import MappingOptions
from tests.emulation.emulator import emulate
from tests.longread.align.rounds import made_reads as made
from tests.longread.align.rounds.made_reads import Event
from tests.longread.align.rounds.test_rounds import (
    PARAMETERS,
    SCORINGS,
    Recipe,
    compiled_rows,
)

EVENTS = [
    Event("copy", 90),
    Event("invert", 60),
    Event("copy", 80),
    Event("insert", 70),
    Event("copy", 60),
    Event("delete", 80),
    Event("noise", 40),
    Event("copy", 90),
]
RECIPES = [
    Recipe(1, [[EVENTS, EVENTS[3:]], [EVENTS[:3]], [[EVENTS[0]]]], [0, 0]),
    Recipe(2, [[EVENTS[2:], EVENTS[::-1]], [EVENTS * 2]], [0, 1]),
    Recipe(3, [[], [EVENTS[:5], EVENTS]], [-1, 6]),
]


def emulated_modules() -> list[ModuleType]:
    from hapgpu.longread.cuda.align import (  # noqa: PLC0415  (imports CuPy)
        alignments,
        assembly,
        cigars,
        drops,
        fills,
        inversions,
        local,
        pairs,
        pieces,
        pieces_alignment,
        pipeline,
        rows,
        steps,
    )

    modules = [alignments, assembly, cigars, drops, fills, inversions, local, pairs, pieces]
    return [*modules, pieces_alignment, pipeline, rows, steps, device_arrays]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    ("scoring", "parameters", "large"),
    [
        (SCORINGS[0], PARAMETERS, 1 << 22),
        (SCORINGS[1], PARAMETERS._replace(drop=15, max_cells=1500), 500),
        (SCORINGS[2], PARAMETERS._replace(bandwidth=10, band=16, long_band=31, end_bonus=10), 0),
    ],
)
def test_rounds_equal_the_cpu(
    recipe: Recipe,
    scoring: AlignScoring,
    parameters: AlignParameters,
    large: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import steps  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.align.pipeline import DeviceMappingAligner  # noqa: PLC0415
    from hapgpu.longread.cuda.align.rows import downloaded_rows, uploaded_rows  # noqa: PLC0415

    batch, parents, targets = recipe.batch()
    codes, reads = made.target_codes(targets), made.read_codes(batch)
    rows = made.mapping_rows(batch, parents)
    on_cpu = MappingAligner(codes, MappingOptions(), scoring, parameters)
    expected = on_cpu.align(rows, made.mapped_anchors(batch), reads)
    emulate(monkeypatch, *emulated_modules())
    monkeypatch.setattr(steps, "_LARGE", large)  # cells of a large fill
    anchors = MappedAnchors(*map(np.copy, made.mapped_anchors(batch)))
    on_gpu = DeviceMappingAligner(codes, MappingOptions(), scoring, parameters)
    found = on_gpu.align(uploaded_rows(rows), anchors, reads)
    host = AlignedMappings(
        downloaded_rows(found.mappings, MAPPING), found.operations, found.offsets
    )
    assert compiled_rows(host) == compiled_rows(expected)
