"""Aligner on the CPU: pairs of similar size in lanes, groups of pairs in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, SOFT_CLIP, match_cigars
from hapgpu.realign.align.bands import (
    WHOLE,
    Band,
    band_of,
    first_margins,
    most_columns,
    next_margins,
)
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
from hapgpu.realign.align.ungapped import UNPROVED, completed, ungapped_alignments
from hapgpu.realign.scoring import LOWEST_SCORE, UNREACHABLE, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice

LANES = 128
"""Pairs per group; with fewer, the compiler's checks around each inner loop cost too much."""

SEARCHED = 4096
"""Pairs that a thread searches at a time for alignments without a gap."""

WORKSPACE_BYTES = 48 << 20
"""About the memory of a thread for direction bits and kept rows."""


def align_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align pairs by GATK's recurrences (Ren et al. 2019, eq. 1-3, with GATK's tie rules).

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The CPU threads to use; the result does not depend on them.

    Returns
    -------
    n alignments in the order of the pairs.
    """
    offsets, scores = _ungapped(pairs, scoring, overhang, device)
    rest = pairs.take(offsets == UNPROVED)
    others = _aligned(rest, first_margins(rest, scoring, overhang), scoring, overhang, device)
    return completed(pairs, offsets, scores, others)


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    offsets, scores = _ungapped(pairs, scoring, overhang, device)
    rest = np.flatnonzero(offsets == UNPROVED)
    margins = np.full(len(pairs), WHOLE, dtype=np.int64)
    groups = [rest[rows] for rows in _groups(pairs.take(rest), margins[rest])]

    def score(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        group = pairs.take(rows)
        band = band_of(group, margins[rows])
        lanes = LaneGroup(group, band, scoring, overhang, workspace, with_directions=False)
        scores[rows] = lanes.fill()

    _run_groups(score, range(len(groups)), device.threads)
    return scores


def _ungapped(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return `ungapped_alignments`, computed by all threads."""
    offsets = np.empty(len(pairs), dtype=np.int32)
    scores = np.empty_like(offsets)

    def search(start: int, _workspace: Workspace) -> None:
        rows = np.arange(start, min(start + SEARCHED, len(pairs)))
        offsets[rows], scores[rows] = ungapped_alignments(pairs.take(rows), scoring, overhang)

    _run_groups(search, range(0, len(pairs), SEARCHED), device.threads)
    return offsets, scores


def _aligned(
    pairs: PairBatch,
    margins: NDArray[np.int64],
    scoring: Scoring,
    overhang: Overhang,
    device: CpuDevice,
) -> AlignmentBatch:
    """Align pairs by the recurrences, in bands that are made wider until they suffice."""
    alignments = _filled(pairs, margins, scoring, overhang, device)
    is_best, wider = next_margins(pairs, scoring, margins, alignments.scores)
    if is_best.all():
        return alignments
    best, rest = np.flatnonzero(is_best), np.flatnonzero(~is_best)
    others = _aligned(pairs.take(rest), wider[rest], scoring, overhang, device)
    both = AlignmentBatch.concatenate([alignments.take(best), others])
    return both.take(np.argsort(np.concatenate((best, rest))))


def _filled(
    pairs: PairBatch,
    margins: NDArray[np.int64],
    scoring: Scoring,
    overhang: Overhang,
    device: CpuDevice,
) -> AlignmentBatch:
    """Align pairs within the bands of int64[n] margins."""
    scores = np.empty(len(pairs), dtype=np.int32)
    offsets = np.empty(len(pairs), dtype=np.int32)
    groups = [np.empty(0, dtype=np.int64), *_groups(pairs, margins)]  # so that there is one
    cigars = [match_cigars(groups[0])] * len(groups)

    def align(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        group = pairs.take(rows)
        band = band_of(group, margins[rows])
        lanes = LaneGroup(group, band, scoring, overhang, workspace, with_directions=True)
        scores[rows] = lanes.fill()
        offsets[rows], cigars[number] = lanes.trace_back()

    _run_groups(align, range(1, len(groups)), device.threads)
    order = np.empty(len(pairs), dtype=np.int64)
    order[np.concatenate(groups)] = np.arange(len(pairs))
    return AlignmentBatch(scores, offsets, Ragged.concatenate(cigars).take(order))


def _groups(pairs: PairBatch, margins: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return row numbers of groups of pairs of similar size, the largest whole matrices first."""
    reference_lengths, query_lengths = pairs.reference_lengths, pairs.query_lengths
    order = np.lexsort((reference_lengths, query_lengths, margins == WHOLE))[::-1]
    groups = []
    start = 0
    while start < order.size:
        longest = order[start]
        lanes = _lane_count(int(reference_lengths[longest]), int(query_lengths[longest]))
        groups.append(order[start : start + lanes])
        start += lanes
    return groups


def _lane_count(rows: int, columns: int) -> int:
    """Return the number of lanes that fit the workspace; below LANES for very long sequences."""
    lanes = LANES
    while lanes > 1 and _kept_rows_bytes(rows, columns, lanes) > WORKSPACE_BYTES // 2:
        lanes //= 2
    return lanes


def _kept_rows_bytes(rows: int, columns: int, lanes: int) -> int:
    """Return the bytes of kept rows when kept rows and direction blocks are of equal size."""
    return int(2 * rows**0.5) * columns * lanes


def _run_groups(task: Callable[[int, Workspace], None], numbers: range, threads: int) -> None:
    """Run a task on all numbers; each thread takes the next one and has its own workspace."""
    threads = min(threads, len(numbers))
    remaining = iter(numbers)

    def work() -> None:
        workspace = Workspace(WORKSPACE_BYTES)
        for number in remaining:  # a range iterator gives each number once, to any thread
            task(number, workspace)

    if threads <= 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work) for _ in range(threads)]:
            future.result()


_INT16_SCORES = 15_000
"""Bound of the scores that are computed in 16 bits."""


class Workspace:
    """Memory of a thread, reused for all groups, because new memory pages are expensive.

    Parameters
    ----------
    size
        About the number of bytes for the direction bits of a group.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._buffers: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialised array, valid until the next call with the same name."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size + size // 4, dtype=np.uint8)
        array: Array = self._buffers[name][:size].view(dtype).reshape(shape)
        return array


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
        set_first_row(self._state, self._weights, int(self._overhang), self._band)
        for number, block in enumerate(self._matrix_layout.blocks):
            if self._directions is not None and len(self._matrix_layout.blocks) > 1:
                self._keep(number)
            self._fill_block(block, find_ends=True)
        return (self._trace.scores * self._divisor).astype(np.int32)

    def trace_back(self) -> tuple[NDArray[np.int32], Ragged]:
        """Return the offsets, int32[lanes], and the CIGARs.

        Raises
        ------
        ValueError
            The lane group was filled without directions.
        """
        pairs, trace, directions = self._pairs, self._trace, self._directions
        if directions is None:
            raise ValueError("lane group without directions: cannot be traced")
        _start_runs(trace, pairs.query_lengths, self._overhang)
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
