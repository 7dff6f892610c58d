"""Tracebacks in windows, 32 pairs side by side, with losses and directions of 8 or 16 bits.

A window ends in the end cell of its pair, whose loss is known and less than the largest number. So
the losses of all cells of the best alignments are exact; see `end_cells`. Directions of other cells
may be wrong, but no best alignment passes there.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_u32, write_32
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_memory import ragged_memory_of
from hapgpu.arrays.vectors import (
    LANES,
    Vector,
    load_like,
    saturated_sum,
    smaller_unsigned,
    store_vector,
    where_different,
    where_not_larger,
)
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, SOFT_CLIP
from hapgpu.realign.align.loss_lanes import (
    LENGTHS_BYTES,
    Group,
    LossPairs,
    Steps,
    columns_of,
    group_of,
    loss_pairs,
    pack_group,
    read_number,
    rows_of,
    steps_of_bytes,
    steps_of_words,
    write_number,
)
from hapgpu.realign.align.losses import Diagonals, Losses, losses_of
from hapgpu.realign.align.windows import Windows
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.jit import njit, njit_inlined

# Direction bits of a cell: whether its best path comes from the diagonal, whether its insertion is
# as good as its deletion, and whether each of them was extended.
_DIAGONAL: Final = np.int64(1)
_INSERTION: Final = np.int64(2)
_INSERTION_EXTENDED: Final = np.int64(4)
_DELETION_EXTENDED: Final = np.int64(8)

_M, _I, _D, _S = (np.int64(operation) for operation in (MATCH, INSERTION, DELETION, SOFT_CLIP))
_ANY: Final = np.int64(-1)
_SOFTCLIP: Final = int(Overhang.SOFTCLIP)


class Traces(NamedTuple):
    """Alignments of n windows.

    Attributes
    ----------
    runs
        uint32 in BAM encoding: the CIGAR of window i is at `starts[i]`.
    starts
        int64[n].
    counts
        int32[n], number of runs.
    offsets
        int32[n], 0-based starts in the windows.
    """

    runs: NDArray[np.uint32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int32]

    @classmethod
    def of(cls, windows: Windows) -> Traces:
        """Return room for the alignments of windows."""
        room = offsets_of(windows.most_runs)
        counts = np.zeros(len(windows.pairs), dtype=np.int32)
        runs = np.empty(int(room[-1]), dtype=np.uint32)
        return cls(runs, room[:-1], counts, np.empty_like(counts))


class _Known(NamedTuple):
    """What is known of n windows: whether rows come before them; see `Windows` for the rest."""

    starts_inside: NDArray[np.uint8]
    clipped: NDArray[np.int64]
    most_runs: NDArray[np.int64]


class _Directions(NamedTuple):
    """What each direction bit is in a vector."""

    diagonal: Vector
    insertion: Vector
    insertion_extended: Vector
    deletion_extended: Vector


class _Work(NamedTuple):
    """Working memory of a group; see `end_cells`.

    `floor` [1] is the loss of the row before the first, except its first cell; `directions`
    [rows, diagonals].
    """

    references: Memory
    queries: Memory
    losses: Memory
    deletions: Memory
    floor: Memory
    directions: Memory
    lengths: Memory


def trace_some(
    windows: Windows,
    scoring: Scoring,
    overhang: Overhang,
    rows: NDArray[np.int64],
    scratch: NDArray[np.uint8],
    traces: Traces,
    *,
    width: int,
) -> None:
    """Write the alignments of some windows.

    Parameters
    ----------
    windows
        n windows.
    scoring, overhang
        Weights that prefer an exact match, and a treatment of overhangs with free ends.
    rows
        int64[k]: the windows to trace, similar ones side by side.
    scratch
        uint8, as many as `Windows.scratch_bytes` of the rows tells.
    traces
        Where to write.
    width
        Bytes of a loss, 1 or 2; all losses are less than `largest_loss`.
    """
    starts_inside = (windows.starts > 0).astype(np.uint8)
    known = _Known(starts_inside, windows.clipped, windows.most_runs)
    pairs = loss_pairs(windows.pairs, Diagonals(windows.lowest, windows.highest), rows)
    _trace_windows(pairs, known, losses_of(scoring), int(overhang), scratch, traces, width)


@njit
def _trace_windows(
    pairs: LossPairs,
    windows: _Known,
    weights: Losses,
    overhang: int,
    scratch: NDArray[np.uint8],
    traces: Traces,
    width: int,
) -> None:
    if width == 1:
        steps = steps_of_bytes(weights)
        _trace_groups(pairs, windows, steps, overhang, scratch, traces, np.int64(1))
    else:
        words = steps_of_words(weights)
        _trace_groups(pairs, windows, words, overhang, scratch, traces, np.int64(2))


@njit_inlined
def _trace_groups(
    pairs: LossPairs,
    windows: _Known,
    steps: Steps,
    overhang: int,
    scratch: NDArray[np.uint8],
    traces: Traces,
    width: Integer,
) -> None:
    references = ragged_memory_of(pairs.references)
    queries = ragged_memory_of(pairs.queries)
    memory, runs = memory_of(scratch), memory_of(traces.runs)
    bits = _direction_bits(steps)
    for start in range(0, pairs.order.size, LANES):
        group = group_of(references, queries, pairs, start)
        work = _work_of(memory, group, width)
        pack_group(
            references, queries, pairs, start, (work.references, work.queries, work.lengths), width
        )
        for lane in range(group.pairs):
            is_inside = np.int64(windows.starts_inside[pairs.order[start + lane]])
            write_number(work.floor, np.int64(lane), -is_inside, width)
        _start(work, group, steps, width)
        for row in range(group.rows):
            _fill_row(work, np.int64(row), group, steps, bits, width)
        for lane in range(group.pairs):
            pair = pairs.order[start + lane]
            out = part_of(runs, 4 * traces.starts[pair], 4 * windows.most_runs[pair])
            clipped = windows.clipped[pair]
            found = _trace(work, group, np.int64(lane), clipped, overhang, out, width)
            traces.offsets[pair], traces.counts[pair] = found


@njit_inlined
def _direction_bits(steps: Steps) -> _Directions:
    two = saturated_sum(steps.one, steps.one)
    four = saturated_sum(two, two)
    return _Directions(steps.one, two, four, saturated_sum(four, four))


@njit_inlined
def _work_of(scratch: Memory, group: Group, width: Integer) -> _Work:
    vector = width * LANES
    rows, columns = group.rows * vector, (group.columns + 1) * vector
    at = LENGTHS_BYTES
    directions = at + rows + 3 * columns + vector
    return _Work(
        part_of(scratch, at, rows),
        part_of(scratch, at + rows, columns),
        part_of(scratch, at + rows + columns, columns),
        part_of(scratch, at + rows + 2 * columns, columns),
        part_of(scratch, at + rows + 3 * columns, vector),
        part_of(scratch, directions, rows * (group.highest - group.lowest + 1)),
        part_of(scratch, np.int64(0), LENGTHS_BYTES),
    )


@njit_inlined
def _start(work: _Work, group: Group, steps: Steps, width: Integer) -> None:
    """Set the row before the first one; a path starts at its cells in the first row filled."""
    vector = width * LANES
    floor = load_like(work.floor, np.int64(0), steps.zero)
    loss = steps.zero
    end = 1 - group.lowest
    for j in range(group.columns + 1):
        store_vector(work.losses, j * vector, loss if j <= end else steps.unreachable)
        loss = saturated_sum(saturated_sum(loss, steps.match), floor)
        store_vector(work.deletions, j * vector, steps.unreachable)


@njit_inlined
def _fill_row(
    work: _Work,
    row: Integer,
    group: Group,
    steps: Steps,
    bits: _Directions,
    width: Integer,
) -> None:
    """Fill the cells of the band in a row (from 0), with their directions."""
    vector = width * LANES
    first = max(row - group.highest, 0)
    end = max(min(row + 1 - group.lowest, group.columns), first)
    out = (row * (group.highest - group.lowest + 1) - first) * vector
    base = load_like(work.references, row * vector, steps.zero)
    diagonal = load_like(work.losses, first * vector, steps.zero)
    left = steps.unreachable if first else steps.zero
    insertion = steps.unreachable
    store_vector(work.losses, first * vector, left)  # no later row starts from the row above
    for j in range(first, end):
        at = j * vector
        query = load_like(work.queries, at, steps.zero)
        above = load_like(work.losses, at + vector, steps.zero)
        through = saturated_sum(diagonal, where_different(base, query, steps.mismatch))
        extended = load_like(work.deletions, at, steps.zero)
        extended = saturated_sum(extended, steps.deletion_extend)
        direction = where_not_larger(extended, above, bits.deletion_extended)
        deletion = smaller_unsigned(extended, above)
        extended = saturated_sum(insertion, steps.insertion_extend)
        longer = where_not_larger(extended, left, bits.insertion_extended)
        insertion = smaller_unsigned(extended, left)
        deleted = saturated_sum(deletion, steps.deletion_open)
        inserted = saturated_sum(insertion, steps.insertion_open)
        gap = smaller_unsigned(inserted, deleted)
        direction = saturated_sum(direction, longer)
        direction = saturated_sum(direction, where_not_larger(inserted, deleted, bits.insertion))
        direction = saturated_sum(direction, where_not_larger(through, gap, bits.diagonal))
        left = smaller_unsigned(through, gap)
        diagonal = above
        store_vector(work.losses, at + vector, left)
        store_vector(work.deletions, at, deletion)
        store_vector(work.directions, out + at, direction)


@njit_inlined
def _trace(
    work: _Work,
    group: Group,
    lane: Integer,
    clipped: Integer,
    overhang: int,
    runs: Memory,
    width: Integer,
) -> tuple[Integer, Integer]:
    """Write the runs of a lane; return its offset in the window, and the number of runs."""
    row, column = rows_of(work.lengths, lane), columns_of(work.lengths, lane)
    diagonals = group.highest - group.lowest + 1
    gap, count, length = _ANY, np.int64(0), clipped
    overhanging = _S if overhang == _SOFTCLIP else _M
    operation = overhanging if clipped > 0 else _ANY
    while row > 0 and column > 0:
        in_band = column - 1 - max(row - 1 - group.highest, 0)
        cell = (row - 1) * diagonals + in_band
        bits = read_number(work.directions, cell * LANES + lane, width)
        step = gap
        if gap == _ANY:
            gap_step = _I if bits & _INSERTION else _D
            step = _M if bits & _DIAGONAL else gap_step
        gap = _ANY
        if step == _I:
            column -= 1
            gap = _I if bits & _INSERTION_EXTENDED else _ANY
        elif step == _D:
            row -= 1
            gap = _D if bits & _DELETION_EXTENDED else _ANY
        else:
            row, column = row - 1, column - 1
        if step != operation:
            if length > 0:
                write_32(runs, 4 * count, length << 4 | operation)
                count += 1
            operation, length = step, np.int64(0)
        length += 1
    leading = column if overhang == _SOFTCLIP else np.int64(0)
    if overhang != _SOFTCLIP:
        length += column  # GATK adds the overhang to the first run of any operation
    write_32(runs, 4 * count, length << 4 | operation)
    count += 1
    if leading > 0:
        write_32(runs, 4 * count, leading << 4 | _S)
        count += 1
    _reverse(runs, count)
    return row - (column - leading), count


@njit_inlined
def _reverse(runs: Memory, count: Integer) -> None:
    for k in range(count >> 1):
        at, other = 4 * np.int64(k), 4 * (count - 1 - k)
        last = read_u32(runs, other)
        write_32(runs, other, read_u32(runs, at))
        write_32(runs, at, last)
