"""Groups of pairs in lanes, whose matrices are filled with directions and traced back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, SOFT_CLIP
from hapgpu.realign.align.bands import Band, most_columns
from hapgpu.realign.align.lanes import (
    Array,
    LanePairs,
    State,
    Trace,
    Weights,
    fill_rows,
    pack_lanes,
    set_first_row,
    trace_block,
)
from hapgpu.realign.align.workspaces import Workspace
from hapgpu.realign.scoring import LOWEST_SCORE, UNREACHABLE, Overhang, Scoring

_INT16_SCORES = 15_000
"""Bound of the scores that are computed in 16 bits."""


@dataclass(frozen=True, slots=True)
class _MatrixLayout:
    """Size of a group's matrices, and rows and columns of a direction block."""

    rows: int
    columns: int
    block_rows: int
    block_columns: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Rows of each block, half-open."""
        starts = range(0, self.rows, self.block_rows)
        return [(start, min(start + self.block_rows, self.rows)) for start in starts]


def _matrix_layout(pairs: PairBatch, band: Band, workspace_size: int) -> _MatrixLayout:
    rows = int(pairs.reference_lengths.max())
    columns = int(pairs.query_lengths.max())
    columns += columns % 2
    block_columns = min(columns, most_columns(band))
    block_rows = rows
    if rows * block_columns // 2 * len(pairs) > workspace_size:
        block_rows = int(4 * rows**0.5) + 1
    return _MatrixLayout(rows, columns, block_rows, block_columns)


def _weights(scoring: Scoring, layout: _MatrixLayout) -> tuple[Weights, int]:
    """Return the weights in the narrowest type for all scores, and the divisor of the scores.

    In 16 bits no score comes near GATK's bounds, so that other bounds give the same result.
    """
    small = scoring.divided()
    steps = layout.rows + layout.columns + 2
    if small.largest * steps < _INT16_SCORES and scoring.largest * steps < -LOWEST_SCORE:
        values = map(np.int16, (*small.weights, -28_000, -32_768))
        return Weights(*values), scoring.divisor
    return Weights(*map(np.int32, (*scoring.weights, UNREACHABLE, LOWEST_SCORE))), 1


class LaneGroup:
    """Pairs, one per lane, that are filled and traced together."""

    def __init__(
        self,
        pairs: PairBatch,
        band: Band,
        scoring: Scoring,
        overhang: Overhang,
        workspace: Workspace,
        *,
        with_directions: bool,
    ) -> None:
        self._band = band
        self._overhang = overhang
        self._workspace = workspace
        self._matrix_layout = _matrix_layout(pairs, band, workspace.size)
        self._weights, self._divisor = _weights(scoring, self._matrix_layout)
        self._score_type = self._weights.match.dtype
        self._pairs = self._packed(pairs)
        self._state = self._new_state("state")
        self._kept: list[State] = []
        self._directions = self._new_directions() if with_directions else None
        self._trace = self._new_trace(with_directions=with_directions)

    def fill(self) -> NDArray[np.int32]:
        """Fill the matrices; return the scores of the best end cells, int32[lanes]."""
        self._fill_blocks(np.zeros(self._pairs.query_lengths.size, dtype=np.bool_), find_ends=True)
        return (self._trace.scores * self._divisor).astype(np.int32)

    def fill_to_corners(self, starts_inside: NDArray[np.bool_]) -> None:
        """Fill matrices whose end cells are the last ones.

        `starts_inside`, bool[lanes]: there are rows before the first, which the best alignment does
        not reach.
        """
        self._fill_blocks(starts_inside, find_ends=False)
        self._trace.rows[:] = self._pairs.reference_lengths
        self._trace.columns[:] = self._pairs.query_lengths

    def _fill_blocks(self, starts_inside: NDArray[np.bool_], *, find_ends: bool) -> None:
        set_first_row(self._state, self._weights, int(self._overhang), self._band, starts_inside)
        for number, block in enumerate(self._matrix_layout.blocks):
            if self._directions is not None and len(self._matrix_layout.blocks) > 1:
                self._keep(number)
            self._fill_block(block, find_ends=find_ends)

    def trace_back(self, query_lengths: NDArray[np.int64]) -> tuple[NDArray[np.int32], Ragged]:
        """Return the offsets, int32[lanes], and the CIGARs.

        `query_lengths`, int64[lanes], are those of the whole queries.

        Raises
        ------
        ValueError
            The lane group was filled without directions.
        """
        trace, directions = self._trace, self._directions
        if directions is None:
            raise ValueError("lane group without directions: cannot be traced")
        _start_runs(trace, query_lengths, self._overhang)
        blocks = self._matrix_layout.blocks
        for number in range(len(blocks) - 1, -1, -1):
            if number < len(blocks) - 1:
                self._restore(number)
                self._fill_block(blocks[number], find_ends=False)
            trace_block(trace, directions, blocks[number][0], self._band)
        offsets = _finish_runs(trace, self._overhang)
        # Runs are stored with the last one first.
        runs = trace.runs[:, : trace.counts.max()]
        is_run = np.arange(runs.shape[1]) < trace.counts[:, None]
        return offsets, Ragged.from_lengths(runs[:, ::-1][is_run[:, ::-1]], trace.counts)

    def _fill_block(self, block: tuple[int, int], *, find_ends: bool) -> None:
        fill_rows(
            self._pairs,
            self._state,
            self._directions,
            self._trace,
            self._weights,
            int(self._overhang),
            block,
            self._band,
            find_ends,
        )

    def _keep(self, number: int) -> None:
        kept = self._new_state(f"kept{number}")
        for target, source in zip(kept, self._state, strict=True):
            target[...] = source
        self._kept.append(kept)

    def _restore(self, number: int) -> None:
        for target, source in zip(self._state, self._kept[number], strict=True):
            target[...] = source

    def _packed(self, pairs: PairBatch) -> LanePairs:
        layout, lanes = self._matrix_layout, len(pairs)
        references = self._workspace.array("references", (layout.rows, lanes), self._score_type)
        queries = self._workspace.array("queries", (layout.columns, lanes), self._score_type)
        packed = LanePairs(references, queries, pairs.reference_lengths, pairs.query_lengths)
        reference_starts = pairs.references.offsets[pairs.reference_index]
        query_starts = pairs.queries.offsets[pairs.query_index]
        pack_lanes(
            read_only(pairs.references.data), reference_starts, packed.reference_lengths, references
        )
        pack_lanes(read_only(pairs.queries.data), query_starts, packed.query_lengths, queries)
        return packed

    def _new_state(self, name: str) -> State:
        columns, lanes = self._matrix_layout.columns, len(self._pairs.query_lengths)
        shapes = [(columns + 1, lanes), (columns, lanes), (lanes,), (lanes,)]
        return State(
            *(
                self._workspace.array(f"{name}.{field}", shape, self._score_type)
                for field, shape in zip(State._fields, shapes, strict=True)
            )
        )

    def _new_directions(self) -> Array:
        shape = (
            self._matrix_layout.block_rows,
            self._matrix_layout.block_columns // 2,
            len(self._pairs.query_lengths),
        )
        return self._workspace.array("directions", shape, np.uint8)

    def _new_trace(self, *, with_directions: bool) -> Trace:
        lanes = len(self._pairs.query_lengths)
        # Each insertion or match uses a column; each deletion except the first is between two.
        capacity = 2 * self._matrix_layout.columns + 3 if with_directions else 0
        return Trace(
            scores=np.full(lanes, -(2**31), dtype=np.int32),
            rows=np.zeros(lanes, dtype=np.int32),
            columns=self._pairs.query_lengths.astype(np.int32),
            gaps=np.zeros(lanes, dtype=np.uint8),
            runs=self._workspace.array("runs", (lanes, capacity), np.uint32),
            counts=np.zeros(lanes, dtype=np.int32),
        )


def _start_runs(trace: Trace, query_lengths: Array, overhang: Overhang) -> None:
    """Start each CIGAR with the query bases to the right of the end cell."""
    overhanging = query_lengths - trace.columns
    if overhang is Overhang.SOFTCLIP:
        _add_runs(trace, overhanging, SOFT_CLIP)
    elif overhang is Overhang.IGNORE:
        _add_runs(trace, overhanging, MATCH)


def _finish_runs(trace: Trace, overhang: Overhang) -> NDArray[np.int32]:
    """Add the rest of each query; return the start positions in the reference, int32[lanes]."""
    rows, columns = trace.rows, trace.columns
    if overhang is Overhang.SOFTCLIP:
        _add_runs(trace, columns, SOFT_CLIP)
        return rows
    if overhang is Overhang.IGNORE:
        # GATK adds the overhang to the first run of any operation.
        lanes = np.arange(columns.size)
        trace.runs[lanes, trace.counts - 1] += columns.astype(np.uint32) << 4
        return rows - columns
    _add_runs(trace, rows, DELETION)
    _add_runs(trace, np.where(rows, 0, columns), INSERTION)
    return np.zeros(rows.size, dtype=np.int32)


def _add_runs(trace: Trace, lengths: Array, operation: int) -> None:
    """Lengthen the current run, or start a new one, in the lanes whose length is not 0."""
    lanes = np.flatnonzero(lengths)
    added = lengths[lanes].astype(np.uint32) << 4
    last = trace.counts[lanes] - 1
    merges = (last >= 0) & (trace.runs[lanes, last] & 15 == operation)
    trace.runs[lanes[merges], last[merges]] += added[merges]
    is_new = ~merges
    trace.runs[lanes[is_new], last[is_new] + 1] = added[is_new] | operation
    trace.counts[lanes[is_new]] += 1
