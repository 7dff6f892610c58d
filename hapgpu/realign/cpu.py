"""The aligner on the CPU: many pairs side by side as the lanes of one matrix.

The innermost axis of every array is the lane, one pair each, so that the compiler turns the
recurrences of `reference.py` into vector instructions. Instead of step lengths a cell keeps four
bits: where its best path came from, and whether its insertion and deletion were extended; the
length of a gap is 1 + the number of consecutive extended cells behind it. Pairs too long for
their bits to be kept at once are filled twice: once to the end, keeping the state at some rows,
and once more, block by block from the last, for the bits that the traceback asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import AlignmentBatch, PairBatch, Ragged
from hapgpu.device import CpuDevice
from hapgpu.jit import njit
from hapgpu.realign.scoring import LOWEST_SCORE, UNREACHABLE, Overhang, Scoring

LANES = 128
"""Pairs side by side; fewer lose to the compiler's checks around each inner loop."""

WORKSPACE_BYTES = 48 << 20
"""About what a thread may use for direction bits and kept rows."""

# Direction bits of a cell; two columns share a byte, the odd one in the upper half.
_INSERTION, _DELETION, _SOURCE = np.uint8(1), np.uint8(2), np.uint8(3)
_INSERTION_EXTENDED, _DELETION_EXTENDED = np.uint8(4), np.uint8(8)
_NO_BITS = np.uint8(0)

_INT16_SCORES = 15_000
"""Scores below this are computed in 16 bits."""

# BAM operations.
_M, _I, _D, _S = 0, 1, 2, 4

_SOFTCLIP, _INDEL, _LEADING_INDEL, _IGNORE = (int(overhang) for overhang in Overhang)

Array = NDArray[Any]


class _Weights(NamedTuple):
    """Scoring in the type of the scores, with GATK's two bounds."""

    match: Any
    mismatch: Any
    gap_open: Any
    gap_extend: Any
    unreachable: Any
    lowest: Any


class _Pairs(NamedTuple):
    """Sequences of a group as lanes: `references` [rows, lanes], `queries` [columns, lanes]."""

    references: Array
    queries: Array
    reference_lengths: Array
    query_lengths: Array


class _State(NamedTuple):
    """The last row filled, and what runs along a row.

    `scores` [columns + 1, lanes], `deletions` [columns, lanes], `insertions` and `diagonals`
    [lanes].
    """

    scores: Array
    deletions: Array
    insertions: Array
    diagonals: Array


class _Trace(NamedTuple):
    """End cells, then the progress of the traceback; all [lanes] but `runs` [lanes, capacity].

    `scores`, `rows` and `columns` are those of the best end cell; the traceback moves the two
    latter. `gaps` is the gap that the next cell continues, _M if none; `runs` holds the CIGAR,
    last run first, and `counts` its size.
    """

    scores: Array
    rows: Array
    columns: Array
    gaps: Array
    runs: Array
    counts: Array


def align_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align pairs by GATK's recurrences (Ren et al. 2019, eq. 1-3, with GATK's tie rules).

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    scoring, overhang
        Weights and the treatment of query bases outside the reference.
    device
        Where to compute; the result does not depend on it.

    Returns
    -------
    n alignments in the order of the pairs.
    """
    scores = np.empty(len(pairs), dtype=np.int32)
    offsets = np.empty(len(pairs), dtype=np.int32)
    groups = _groups(pairs)
    cigars: list[Ragged] = [Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))] * len(groups)

    def align(number: int, workspace: _Workspace) -> None:
        rows = groups[number]
        lanes = _Group(pairs.take(rows), scoring, overhang, workspace, with_directions=True)
        scores[rows] = lanes.fill()
        offsets[rows], cigars[number] = lanes.trace_back()

    _run_groups(align, len(groups), device.threads)
    order = np.empty(len(pairs), dtype=np.int64)
    if groups:
        order[np.concatenate(groups)] = np.arange(len(pairs))
        ragged = Ragged.concatenate(cigars).take(order)
    else:
        ragged = Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))
    return AlignmentBatch(scores, offsets, ragged)


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    scores = np.empty(len(pairs), dtype=np.int32)
    groups = _groups(pairs)

    def score(number: int, workspace: _Workspace) -> None:
        rows = groups[number]
        lanes = _Group(pairs.take(rows), scoring, overhang, workspace, with_directions=False)
        scores[rows] = lanes.fill()

    _run_groups(score, len(groups), device.threads)
    return scores


def _groups(pairs: PairBatch) -> list[NDArray[np.int64]]:
    """Row numbers of the pairs to be filled side by side: of like size, the largest first."""
    reference_lengths, query_lengths = pairs.reference_lengths, pairs.query_lengths
    order = np.lexsort((reference_lengths, query_lengths))[::-1]
    groups = []
    start = 0
    while start < order.size:
        longest = order[start]
        lanes = _lane_count(int(reference_lengths[longest]), int(query_lengths[longest]))
        groups.append(order[start : start + lanes])
        start += lanes
    return groups


def _lane_count(rows: int, columns: int) -> int:
    """As many lanes as the workspace holds; fewer than LANES only for very long sequences."""
    lanes = LANES
    while lanes > 1 and _kept_rows_bytes(rows, columns, lanes) > WORKSPACE_BYTES // 2:
        lanes //= 2
    return lanes


def _kept_rows_bytes(rows: int, columns: int, lanes: int) -> int:
    """Memory of the rows kept for the second filling when it is balanced with the blocks."""
    return int(2 * rows**0.5) * columns * lanes


def _run_groups(task: Callable[[int, _Workspace], None], count: int, threads: int) -> None:
    """Do all groups, each thread taking the next one with a workspace of its own."""
    numbers = iter(range(count))
    if threads == 1 or count <= 1:
        workspace = _Workspace()
        for number in numbers:
            task(number, workspace)
        return

    def work() -> None:
        workspace = _Workspace()
        for number in numbers:  # a range iterator hands out each number once, whatever the thread
            task(number, workspace)

    with ThreadPoolExecutor(min(threads, count)) as pool:
        for future in [pool.submit(work) for _ in range(min(threads, count))]:
            future.result()


class _Workspace:
    """Memory of one thread, kept from group to group: fresh pages cost more than filling them."""

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Uninitialised array; valid until the next call with the same name."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size + size // 4, dtype=np.uint8)
        array: Array = self._buffers[name][:size].view(dtype).reshape(shape)
        return array


@dataclass(frozen=True, slots=True)
class _Layout:
    """Size of a group's matrices, and the rows of a direction block."""

    rows: int
    columns: int
    block_rows: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First and last + 1 row of each block."""
        starts = range(0, self.rows, self.block_rows)
        return [(start, min(start + self.block_rows, self.rows)) for start in starts]


def _layout(pairs: PairBatch) -> _Layout:
    rows = int(pairs.reference_lengths.max())
    columns = int(pairs.query_lengths.max())
    columns += columns % 2
    block_rows = rows
    if rows * columns // 2 * len(pairs) > WORKSPACE_BYTES:
        block_rows = int(4 * rows**0.5) + 1
    return _Layout(rows, columns, block_rows)


def _weights(scoring: Scoring, layout: _Layout) -> tuple[_Weights, int]:
    """Weights in the narrowest type that holds all scores, and what scores are divided by.

    In 16 bits no score comes near either of GATK's bounds, so that stand-ins will do.
    """
    small = scoring.divided()
    steps = layout.rows + layout.columns + 2
    if small.largest * steps < _INT16_SCORES and scoring.largest * steps < -LOWEST_SCORE:
        values = map(np.int16, (*small.weights, -28_000, -32_768))
        return _Weights(*values), scoring.divisor
    return _Weights(*map(np.int32, (*scoring.weights, UNREACHABLE, LOWEST_SCORE))), 1


class _Group:
    """Pairs that are filled and traced side by side."""

    def __init__(
        self,
        pairs: PairBatch,
        scoring: Scoring,
        overhang: Overhang,
        workspace: _Workspace,
        *,
        with_directions: bool,
    ) -> None:
        self._overhang = int(overhang)
        self._workspace = workspace
        self._layout = _layout(pairs)
        self._weights, self._divisor = _weights(scoring, self._layout)
        self._score_type = self._weights.match.dtype
        self._pairs = self._pack(pairs)
        self._state = self._new_state("state")
        self._kept: list[_State] = []
        self._directions = self._new_directions() if with_directions else None
        self._trace = self._new_trace(with_directions=with_directions)

    def fill(self) -> NDArray[np.int32]:
        """Fill the matrices; int32[lanes] scores of the best end cells."""
        _set_first_row(self._state, self._weights, self._overhang)
        for number, block in enumerate(self._layout.blocks):
            if self._directions is not None and len(self._layout.blocks) > 1:
                self._keep(number)
            self._fill_block(block, find_ends=True)
        return (self._trace.scores * self._divisor).astype(np.int32)

    def trace_back(self) -> tuple[NDArray[np.int32], Ragged]:
        """int32[lanes] offsets, and the CIGARs."""
        pairs, trace, directions = self._pairs, self._trace, self._directions
        if directions is None:
            raise ValueError("scores only: there is nothing to trace")
        _start_runs(trace, pairs.query_lengths, self._overhang)
        blocks = self._layout.blocks
        for number in range(len(blocks) - 1, -1, -1):
            if number < len(blocks) - 1:
                self._restore(number)
                self._fill_block(blocks[number], find_ends=False)
            _trace_block(trace, directions, blocks[number][0])
        offsets = np.empty(len(trace.rows), dtype=np.int32)
        _finish_runs(trace, offsets, self._overhang)
        cigars = Ragged.from_lengths(np.empty(int(trace.counts.sum()), np.uint32), trace.counts)
        _reverse_runs(trace, cigars.data, cigars.offsets)
        return offsets, cigars

    def _fill_block(self, block: tuple[int, int], *, find_ends: bool) -> None:
        _fill_rows(
            self._pairs,
            self._state,
            self._directions,
            self._trace,
            self._weights,
            self._overhang,
            block,
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

    def _pack(self, pairs: PairBatch) -> _Pairs:
        layout, lanes = self._layout, len(pairs)
        references = self._workspace.array("references", (layout.rows, lanes), self._score_type)
        queries = self._workspace.array("queries", (layout.columns, lanes), self._score_type)
        packed = _Pairs(references, queries, pairs.reference_lengths, pairs.query_lengths)
        reference_starts = pairs.references.offsets[pairs.reference_index]
        query_starts = pairs.queries.offsets[pairs.query_index]
        _pack(pairs.references.data, reference_starts, packed.reference_lengths, references)
        _pack(pairs.queries.data, query_starts, packed.query_lengths, queries)
        return packed

    def _new_state(self, name: str) -> _State:
        columns, lanes = self._layout.columns, len(self._pairs.query_lengths)
        shapes = [(columns + 1, lanes), (columns, lanes), (lanes,), (lanes,)]
        return _State(
            *(
                self._workspace.array(f"{name}.{field}", shape, self._score_type)
                for field, shape in zip(_State._fields, shapes, strict=True)
            )
        )

    def _new_directions(self) -> Array:
        shape = (
            self._layout.block_rows,
            self._layout.columns // 2,
            len(self._pairs.query_lengths),
        )
        return self._workspace.array("directions", shape, np.uint8)

    def _new_trace(self, *, with_directions: bool) -> _Trace:
        lanes = len(self._pairs.query_lengths)
        # Each insertion or match takes a column, each but the first deletion lies between two.
        capacity = 2 * self._layout.columns + 3 if with_directions else 0
        return _Trace(
            scores=np.full(lanes, -(2**31), dtype=np.int32),
            rows=np.zeros(lanes, dtype=np.int32),
            columns=self._pairs.query_lengths.astype(np.int32),
            gaps=np.zeros(lanes, dtype=np.uint8),
            runs=self._workspace.array("runs", (lanes, capacity), np.uint32),
            counts=np.zeros(lanes, dtype=np.int32),
        )


@njit
def _pack(rows: Array, starts: Array, lengths: Array, lanes: Array) -> None:
    """Write each row into its lane; what lies below a row's end is never looked at."""
    for lane in range(lanes.shape[1]):
        for k in range(lengths[lane]):
            lanes[k, lane] = rows[starts[lane] + k]
        for k in range(lengths[lane], lanes.shape[0]):
            lanes[k, lane] = 0


@njit
def _border(position: int, weights: _Weights, overhang: int) -> int:
    """Score of the cell `position` steps along the first row or column."""
    if position == 0 or overhang in (_SOFTCLIP, _IGNORE):
        return 0
    return int(weights.gap_open) + (position - 1) * int(weights.gap_extend)


@njit
def _set_first_row(state: _State, weights: _Weights, overhang: int) -> None:
    for j in range(state.scores.shape[0]):
        state.scores[j, :] = _border(j, weights, overhang)
    state.deletions[:] = weights.unreachable


@njit
def _cell(
    matches: bool,
    diagonal: Any,
    above: Any,
    deletion: Any,
    left: Any,
    insertion: Any,
    weights: _Weights,
    score_type: Any,
) -> tuple[Any, Any, Any, Any]:
    """Score, insertion, deletion and direction bits of one cell (`_fill` of reference.py)."""
    through = score_type(diagonal + (weights.match if matches else weights.mismatch))
    deletion_opened = score_type(above + weights.gap_open)
    deletion = score_type(deletion + weights.gap_extend)
    deletion_bit = _DELETION_EXTENDED if deletion >= deletion_opened else _NO_BITS
    deletion = deletion if deletion >= deletion_opened else deletion_opened
    insertion_opened = score_type(left + weights.gap_open)
    insertion = score_type(insertion + weights.gap_extend)
    insertion_bit = _INSERTION_EXTENDED if insertion >= insertion_opened else _NO_BITS
    insertion = insertion if insertion >= insertion_opened else insertion_opened
    gap = insertion if insertion >= deletion else deletion
    source = _INSERTION if insertion >= deletion else _DELETION
    source = _NO_BITS if through >= gap else source
    score = through if through >= gap else gap
    score = score if score >= weights.lowest else weights.lowest
    return score, insertion, deletion, np.uint8(source | insertion_bit | deletion_bit)


@njit
def _start_row(state: _State, i: int, weights: _Weights, overhang: int) -> None:
    border = _border(i + 1, weights, overhang)
    for lane in range(state.insertions.shape[0]):
        state.insertions[lane] = weights.unreachable
        state.diagonals[lane] = state.scores[0, lane]
        state.scores[0, lane] = border


@njit
def _fill_rows(
    pairs: _Pairs,
    state: _State,
    directions: Array | None,
    trace: _Trace,
    weights: _Weights,
    overhang: int,
    block: tuple[int, int],
    find_ends: bool,
) -> None:
    """Fill the rows of a block; `directions` [row, column pair, lane], or None for scores only.

    Two columns a step: with one, the compiler sees no vectors in it.
    """
    first, last = block
    scores, deletions, insertions, diagonals = state
    references, queries = pairs.references, pairs.queries
    score_type = scores.dtype.type
    lanes = references.shape[1]
    for i in range(first, last):
        _start_row(state, i, weights, overhang)
        for j in range(0, queries.shape[0], 2):
            for lane in range(lanes):
                base = references[i, lane]
                above, above_next = scores[j + 1, lane], scores[j + 2, lane]
                score, insertion, deletion, bits = _cell(
                    base == queries[j, lane],
                    diagonals[lane],
                    above,
                    deletions[j, lane],
                    scores[j, lane],
                    insertions[lane],
                    weights,
                    score_type,
                )
                scores[j + 1, lane] = score
                deletions[j, lane] = deletion
                score, insertion, deletion, bits_next = _cell(
                    base == queries[j + 1, lane],
                    above,
                    above_next,
                    deletions[j + 1, lane],
                    score,
                    insertion,
                    weights,
                    score_type,
                )
                scores[j + 2, lane] = score
                deletions[j + 1, lane] = deletion
                insertions[lane] = insertion
                diagonals[lane] = above_next
                if directions is not None:
                    both = np.uint8(bits | np.uint8(bits_next << np.uint8(4)))
                    directions[i - first, j >> 1, lane] = both
        if find_ends:
            _find_ends(pairs, scores, trace, overhang, i + 1)


@njit
def _find_ends(pairs: _Pairs, scores: Array, trace: _Trace, overhang: int, row: int) -> None:
    """Take the end cells of a filled row (1-based) into account (`_end_cell` of reference.py)."""
    for lane in range(scores.shape[1]):
        rows = pairs.reference_lengths[lane]
        if row > rows:
            continue
        last_column = pairs.query_lengths[lane]
        score = scores[last_column, lane]
        if (row == rows) if overhang == _INDEL else (score >= trace.scores[lane]):
            trace.scores[lane] = score
            trace.rows[lane] = row
        if row == rows and overhang in (_SOFTCLIP, _IGNORE):
            _search_last_row(scores, trace, lane, row, last_column)


@njit
def _search_last_row(scores: Array, trace: _Trace, lane: int, row: int, columns: int) -> None:
    for j in range(1, columns + 1):
        score = scores[j, lane]
        nearer_diagonal = abs(row - j) < abs(trace.rows[lane] - trace.columns[lane])
        if score > trace.scores[lane] or (score == trace.scores[lane] and nearer_diagonal):
            trace.scores[lane] = score
            trace.rows[lane] = row
            trace.columns[lane] = j


@njit
def _add_run(trace: _Trace, lane: int, length: int, operation: int) -> None:
    """Lengthen the run at hand, or begin a new one."""
    count = trace.counts[lane]
    if count and trace.runs[lane, count - 1] & 15 == operation:
        trace.runs[lane, count - 1] += np.uint32(length << 4)
    else:
        trace.runs[lane, count] = np.uint32(length << 4 | operation)
        trace.counts[lane] = count + 1


@njit
def _start_runs(trace: _Trace, query_lengths: Array, overhang: int) -> None:
    """Begin each CIGAR with the query bases to the right of the end cell."""
    for lane in range(query_lengths.shape[0]):
        overhanging = query_lengths[lane] - trace.columns[lane]
        if overhanging and overhang == _SOFTCLIP:
            _add_run(trace, lane, overhanging, _S)
        elif overhanging and overhang == _IGNORE:
            _add_run(trace, lane, overhanging, _M)


@njit
def _trace_block(trace: _Trace, directions: Array, first: int) -> None:
    """Follow the bits of each lane up to a border of its matrix, or of the block above."""
    for lane in range(trace.rows.shape[0]):
        row, column, gap = trace.rows[lane], trace.columns[lane], trace.gaps[lane]
        while row > first and column > 0:
            byte = directions[row - 1 - first, (column - 1) >> 1, lane]
            bits = byte >> np.uint8(4) if column % 2 == 0 else byte
            source = gap or bits & _SOURCE
            if source == _INSERTION:
                _add_run(trace, lane, 1, _I)
                column -= 1
                gap = _INSERTION if bits & _INSERTION_EXTENDED else _NO_BITS
            elif source == _DELETION:
                _add_run(trace, lane, 1, _D)
                row -= 1
                gap = _DELETION if bits & _DELETION_EXTENDED else _NO_BITS
            else:
                _add_run(trace, lane, 1, _M)
                row -= 1
                column -= 1
        trace.rows[lane], trace.columns[lane], trace.gaps[lane] = row, column, gap


@njit
def _finish_runs(trace: _Trace, offsets: Array, overhang: int) -> None:
    """End each CIGAR with what is left of the query, and place it on the reference."""
    for lane in range(offsets.shape[0]):
        row, column = trace.rows[lane], trace.columns[lane]
        offsets[lane] = 0
        if overhang == _SOFTCLIP:
            offsets[lane] = row
            if column:
                _add_run(trace, lane, column, _S)
        elif overhang == _IGNORE:
            # GATK lengthens the first run by the overhang, whatever its operation.
            offsets[lane] = row - column
            trace.runs[lane, trace.counts[lane] - 1] += np.uint32(column << 4)
        elif row:
            _add_run(trace, lane, row, _D)
        elif column:
            _add_run(trace, lane, column, _I)


@njit
def _reverse_runs(trace: _Trace, data: Array, offsets: Array) -> None:
    for lane in range(trace.counts.shape[0]):
        count = trace.counts[lane]
        for k in range(count):
            data[offsets[lane] + k] = trace.runs[lane, count - 1 - k]
