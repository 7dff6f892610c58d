"""Pieces planned by kernels against the pieces of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import (
    PLAN,
    MappedAnchors,
    Pieces,
    PlannedPieces,
    SequenceCodes,
)
from hapgpu.longread.align.pieces import plan_pieces
from tests.longread.align.device_arrays import uploaded
from tests.longread.align.pieces.made_plans import Batch, Scored


@dataclass(frozen=True)
class Planner:
    """Planning of pieces with arrays elsewhere, and copies of arrays to and from there."""

    plan: Callable[..., PlannedPieces]
    to_device: Callable[[NDArray[Any]], Any]
    to_host: Callable[[Any], NDArray[Any]]


def check_plans(planner: Planner, scored: Scored, batch: Batch, rows: NDArray[np.int64]) -> None:
    """Plan some mappings by both, in the batch itself by the CPU; compare all of the results."""
    anchors, upload, download = batch.anchors, planner.to_device, planner.to_host
    on_device = MappedAnchors(*(upload(column.copy()) for column in anchors))
    of_cpu = SequenceCodes.of(batch.reads, batch.targets)
    mappings = batch.mappings
    words, sequences = (uploaded(each, upload) for each in (mappings, of_cpu))
    parameters = (scored.scoring, scored.parameters)
    found = planner.plan(words, upload(rows), on_device, sequences, *parameters)
    expected = plan_pieces(mappings, rows, anchors, of_cpu, *parameters)
    plans = download(found.plans)
    assert plans.dtype == np.int64
    assert plans.view(PLAN).reshape(-1).tolist() == expected.plans.tolist()
    np.testing.assert_array_equal(download(found.end_anchors), expected.end_anchors)
    for name in Pieces._fields:
        column, of_host = download(getattr(found.pieces, name)), getattr(expected.pieces, name)
        assert column.dtype == of_host.dtype, name
        np.testing.assert_array_equal(column, of_host, err_msg=name)
    np.testing.assert_array_equal(download(on_device.y), anchors.y)


def check_rounds(planner: Planner, scored: Scored, batch: Batch) -> None:
    """Plan every other mapping, then the remaining ones; the former leave flags in the anchors."""
    rows = np.arange(batch.mappings.size)
    check_plans(planner, scored, batch, rows[::2].copy())
    check_plans(planner, scored, batch, rows[1::2].copy())
