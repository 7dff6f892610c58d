"""Made alignments of pieces, and checks of their assembly on a GPU, or its emulation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align import assembly as on_cpu
from hapgpu.longread.align import pipeline
from hapgpu.longread.align.batches import (
    FILL,
    LEFT,
    MAPPING,
    NO_PARENT,
    PLAN,
    REFILL,
    RIGHT,
    AlignedMappings,
    AlignedPieces,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    PlannedPieces,
)
from hapgpu.longread.align.parameters import AlignParameters
from hapgpu.longread.options import preset
from tests.longread.align.cigars.made_cigars import check_finished
from tests.longread.align.device_arrays import Upload, downloaded, records, uploaded
from tests.longread.align.pieces.real_reads import map_reads
from tests.longread.align.rounds import made_reads as made
from tests.longread.align.rounds.made_reads import KINDS, Event, Made
from tests.longread.align.rounds.test_rounds import PARAMETERS, SCORING, aligner_of


class Case(NamedTuple):
    """Arguments of `assemble`."""

    mappings: NDArray[np.void]
    aligned: AlignedPieces
    anchors: MappedAnchors
    lengths: NDArray[np.int32]
    parameters: AlignParameters
    first_operation: int


def made_case(seed: int, fills: Sequence[int], operations: int, drops: float) -> Case:
    """Make mappings with these numbers of fills, of up to so many operations each, of any kinds.

    Parameters
    ----------
    drops
        Fraction of dropped fills.
    """
    draws = np.random.default_rng(seed)
    size = len(fills)
    count = int(sum(fills)) + 2 * size
    plans, mappings = np.zeros(size, dtype=PLAN), np.zeros(size, dtype=MAPPING)
    kinds = np.full(count, LEFT, dtype=np.uint8)
    kinds[size : 2 * size] = RIGHT
    kinds[2 * size :] = draws.choice([FILL, REFILL], count - 2 * size)
    end_anchors = np.full(count, -1, dtype=np.int32)
    first_fill, first_anchor = 2 * size, 0
    for row, of_plan in enumerate(fills):
        skipped = int(draws.integers(0, 3))
        ends = np.cumsum(draws.integers(1, 60, of_plan))
        anchors = int(ends[-1] if of_plan else 0) + 1
        end_anchors[first_fill : first_fill + of_plan] = ends
        plan, mapping = plans[row], mappings[row]
        plan["mapping"], plan["first_anchor"], plan["anchors"] = row, first_anchor, anchors
        plan["query_start"], plan["target_start"] = draws.integers(1000, 2000, 2)
        plan["left"] = row if draws.random() < 0.7 else -1
        plan["right"] = size + row if draws.random() < 0.7 else -1
        plan["first_fill"], plan["fills"] = first_fill, of_plan
        mapping["first_anchor"], mapping["anchors"] = first_anchor - skipped, anchors + skipped
        if row == 0:
            mapping["first_anchor"], mapping["anchors"] = 0, anchors
        first_anchor += anchors
        first_fill += of_plan
    mappings["read"] = np.arange(size)
    mappings["number"], mappings["parent"] = draws.integers(0, 2, (2, size))
    mappings["is_reverse"] = draws.integers(0, 2, size)
    mappings["score"] = mappings["first_score"] = draws.integers(40, 100_000, size)
    mappings["split"] = draws.integers(0, 4, size)
    mappings["next"] = NO_PARENT
    lengths = draws.integers(0, 500, (2, count)).astype(np.int32)
    numbers = draws.integers(-1, 400, (5, count)).astype(np.int32)
    is_dropped = (draws.random(count) < drops).astype(np.uint8)
    sizes = draws.integers(0, operations + 1, count)
    data = draws.integers(0, 30, int(sizes.sum())) << 4 | draws.integers(0, 3, int(sizes.sum()))
    zeros = np.zeros(count, dtype=np.int64)
    pieces = Pieces(
        *(kinds, zeros, lengths[0], zeros, lengths[1]),
        *np.zeros((2, count), dtype=np.int32),
    )
    alignments = PieceAlignments(
        *numbers,
        draws.integers(0, 2, count).astype(np.uint8),
        is_dropped,
        data.astype(np.uint32),
        np.concatenate([[0], np.cumsum(sizes)]),
    )
    x, y = np.cumsum(draws.integers(0, 40, (2, first_anchor)), axis=1) + 900
    anchors_of_all = MappedAnchors(
        x.astype(np.uint64) | np.uint64(1 << 33),
        y.astype(np.uint64) | np.uint64(15 << 32),
        np.array([0, first_anchor], dtype=np.int64),
    )
    return Case(
        mappings,
        AlignedPieces(
            PlannedPieces(pieces, plans, end_anchors),
            alignments,
            draws.integers(0, 3, count).astype(np.uint8),
        ),
        anchors_of_all,
        np.full(size, 100_000, dtype=np.int32),
        PARAMETERS,
        int(draws.integers(0, 1000)),
    )


def random_reads(seed: int, reads: int) -> list[Made]:
    """Make reads of random events, from `TARGETS`."""
    draws = random.Random(seed)  # noqa: S311  (no secret)
    return [
        made.made_read(
            [
                [Event(draws.choice(KINDS), draws.randrange(5, 90)) for _ in range(9)]
                for _ in range(draws.randrange(3))
            ],
            TARGETS,
            draws.randrange(1000),
        )
        for _ in range(reads)
    ]


TARGETS = made.made_targets(3)


class Checker:
    """Comparison of the stages with those of the CPU."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload

    def assemble(self, *arguments: Any) -> on_cpu.Assembly:
        """Return the assembly of the CPU, equal to that of the GPU."""
        from hapgpu.longread.cuda.align import assembly  # noqa: PLC0415  (imports CuPy)

        case = Case(*arguments)
        planned = case.aligned.planned
        rows = uploaded(case.mappings, self._upload)
        found = assembly.assemble(
            rows,
            uploaded(case.aligned, self._upload),
            uploaded(case.anchors, self._upload),
            self._upload(case.lengths),
            case.parameters,
            case.first_operation,
        )
        expected = on_cpu.assemble(*case)
        mappings = records(found.mappings, MAPPING)
        plans = planned.plans["mapping"]
        np.testing.assert_array_equal(
            operations_of(mappings[plans], downloaded(found.operations), case.first_operation),
            operations_of(expected.mappings[plans], expected.operations, case.first_operation),
        )
        mappings["first_operation"][plans] = expected.mappings["first_operation"][plans]
        assert_rows_equal(mappings, expected.mappings)
        return expected

    def in_order(
        self,
        mappings: NDArray[np.void],
        initial: int,
        operations: NDArray[np.uint32],
        reads: int,
    ) -> AlignedMappings:
        """Return the mappings as the CPU orders them, equal to the order of the GPU."""
        from hapgpu.longread.cuda.align import assembly  # noqa: PLC0415  (imports CuPy)

        rows = uploaded(mappings, self._upload)
        found = assembly.in_order(rows, initial, self._upload(operations), reads)
        expected = on_cpu.in_order(mappings, initial, operations, reads)
        assert_rows_equal(records(found.mappings, MAPPING), expected.mappings)
        np.testing.assert_array_equal(downloaded(found.operations), expected.operations)
        np.testing.assert_array_equal(downloaded(found.offsets), expected.offsets)
        return expected


def operations_of(
    mappings: NDArray[np.void], operations: NDArray[np.uint32], first: int
) -> NDArray[np.uint32]:
    """Return the operations of mappings without gaps between them."""
    rows = Ragged.gather(operations, mappings["first_operation"] - first, mappings["operations"])
    return rows.data


def assert_rows_equal(found: NDArray[np.void], expected: NDArray[np.void]) -> None:
    assert found.size == expected.size
    for name in MAPPING.names or ():
        np.testing.assert_array_equal(found[name], expected[name], name)


def check_made(upload: Upload, seed: int, fills: Sequence[int], operations: int) -> None:
    """Check the assembly of made alignments of pieces, without and with dropped fills."""
    for drops in (0.0, 0.02, 0.3):
        Checker(upload).assemble(*made_case(seed, fills, operations, drops))


def check_reads(upload: Upload, seed: int, reads: int, patch: pytest.MonkeyPatch) -> None:
    """Check all rounds of the alignment of made reads."""
    batch = random_reads(seed, reads)
    parents = [[*range(len(each.chains))] for each in batch]
    aligner = checked(upload, aligner_of(TARGETS, SCORING, PARAMETERS), patch)
    aligner.align(
        made.mapping_rows(batch, parents), made.mapped_anchors(batch), made.read_codes(batch)
    )


def check_real_reads(upload: Upload, data_dir: Path, reads: int, patch: pytest.MonkeyPatch) -> None:
    """Check all rounds of the alignment of the first real reads."""
    path = data_dir / "longread" / "lambda_ont.fq.gz"
    options = preset("map-ont")
    mapped = map_reads(data_dir / "genomes" / "lambda.NC_001416.fa.gz", path, options)
    batch = mapped.batch
    arguments = (batch.targets, options.mappings, mapped.scoring, mapped.parameters)
    aligner = checked(upload, pipeline.MappingAligner(*arguments), patch)
    aligner.align(batch.mappings[batch.mappings["read"] < reads], batch.anchors, batch.reads)


def checked(
    upload: Upload, aligner: pipeline.MappingAligner, patch: pytest.MonkeyPatch
) -> pipeline.MappingAligner:
    """Return an aligner that runs the stages on both devices."""
    checker = Checker(upload)
    patch.setattr(pipeline, "in_order", checker.in_order)
    stages = aligner.stages._replace(
        assemble=checker.assemble, finish_alignments=partial(check_finished, upload)
    )
    return replace(aligner, stages=stages)
