"""Aligner on the CPU: end cells first, then tracebacks in narrow bands, pairs side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import match_cigars
from hapgpu.realign.align.bands import WHOLE, Band, diagonals_of, first_margins, next_margins
from hapgpu.realign.align.end_cells import find_end_cells, scratch_bytes
from hapgpu.realign.align.lane_groups import LaneGroup
from hapgpu.realign.align.losses import UNKNOWN, EndCells, largest_loss, losses_of
from hapgpu.realign.align.tracing import merged, straight_alignments
from hapgpu.realign.align.ungapped import (
    UNPROVED,
    are_straight,
    completed,
    losses_add_up,
    ungapped_alignments,
)
from hapgpu.realign.align.window_traces import Traces, trace_some
from hapgpu.realign.align.windows import Windows, windows_of
from hapgpu.realign.align.workspaces import Workspace, run_tasks
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice

LANES = 128
"""Pairs per group; with fewer, the compiler's checks around each inner loop cost too much."""

SEARCHED = 4096
"""Pairs that a thread searches at a time for alignments without a gap."""

FILLED = 512
"""Pairs of which a thread searches the end cells at a time."""

WORKSPACE_BYTES = 48 << 20
"""About the memory of a thread for direction bits and kept rows."""

_WIDTHS = (1, 2)
"""Bytes of a loss, tried in this order: most reads lose less than 255."""

_MISMATCHES = 4
"""Mismatches that a loss must have room for, else more bytes are tried at once."""


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
    if not losses_add_up(pairs, scoring, overhang):
        return _filled(pairs, scoring, overhang, device)
    offsets, scores = _ungapped(pairs, scoring, overhang, device)
    rest = pairs.take(offsets == UNPROVED)
    ends = _end_cells(rest, scoring, overhang, device)
    is_known = ends.losses != UNKNOWN
    traced = _traced(rest.take(is_known), ends.take(is_known), scoring, overhang, device)
    others = _filled(rest.take(~is_known), scoring, overhang, device)
    return completed(pairs, offsets, scores, merged(is_known, traced, others))


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    if not losses_add_up(pairs, scoring, overhang):
        return _filled_scores(pairs, scoring, overhang, device)
    offsets, scores = _ungapped(pairs, scoring, overhang, device)
    rows = np.flatnonzero(offsets == UNPROVED)
    rest = pairs.take(rows)
    ends = _end_cells(rest, scoring, overhang, device)
    is_known = ends.losses != UNKNOWN
    scores[rows] = ends.scores(rest, scoring)
    unknown = rest.take(~is_known)
    scores[rows[~is_known]] = _filled_scores(unknown, scoring, overhang, device)
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

    run_tasks(search, range(0, len(pairs), SEARCHED), device.threads, WORKSPACE_BYTES)
    return offsets, scores


def _end_cells(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> EndCells:
    """Return the end cells of n pairs; pairs that lose more than a byte holds get two bytes."""
    ends = EndCells.of_unknown(len(pairs))
    margins = first_margins(pairs, scoring, overhang)
    rows = np.arange(len(pairs))
    for width in loss_widths(scoring):
        found = _in_bands(pairs.take(rows), margins[rows], scoring, width, device)
        ends.put(rows, found)
        rows = rows[found.losses == UNKNOWN]
    return ends


def loss_widths(scoring: Scoring) -> list[int]:
    """Return the bytes of a loss that are tried, in this order."""
    least = _MISMATCHES * losses_of(scoring).mismatch
    return [width for width in _WIDTHS if least < largest_loss(width)]


def _in_bands(
    pairs: PairBatch,
    margins: NDArray[np.int64],
    scoring: Scoring,
    width: int,
    device: CpuDevice,
) -> EndCells:
    """Return the end cells of n pairs, in bands that are made wider until they suffice."""
    ends = _searched(pairs, margins, scoring, width, device)
    is_best, wider = next_margins(pairs, scoring, margins, ends.scores(pairs, scoring))
    rest = np.flatnonzero(~is_best & (ends.losses != UNKNOWN))
    if rest.size:
        ends.put(rest, _in_bands(pairs.take(rest), wider[rest], scoring, width, device))
    return ends


def _searched(
    pairs: PairBatch,
    margins: NDArray[np.int64],
    scoring: Scoring,
    width: int,
    device: CpuDevice,
) -> EndCells:
    """Return the end cells of n pairs in bands of int64[n] margins."""
    ends = EndCells.of_unknown(len(pairs))
    diagonals = diagonals_of(pairs, margins)
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    order = np.lexsort((margins, rows, columns, margins == WHOLE))[::-1].copy()

    def search(start: int, workspace: Workspace) -> None:
        part = order[start : start + FILLED]
        size = scratch_bytes(int(rows[part].max()), int(columns[part].max()), width)
        scratch = workspace.array("end cells", (size,), np.uint8)
        find_end_cells(pairs, diagonals, scoring, part, scratch, ends, width=width)

    run_tasks(search, range(0, len(pairs), FILLED), device.threads, WORKSPACE_BYTES)
    return ends


def _traced(
    pairs: PairBatch, ends: EndCells, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align n pairs with known end cells."""
    is_straight = _straight(pairs, ends, scoring, device)
    straight = straight_alignments(
        pairs.take(is_straight), ends.take(is_straight), scoring, overhang
    )
    gapped = _gapped(pairs.take(~is_straight), ends.take(~is_straight), scoring, overhang, device)
    return merged(is_straight, straight, gapped)


def _straight(
    pairs: PairBatch, ends: EndCells, scoring: Scoring, device: CpuDevice
) -> NDArray[np.bool_]:
    """Return `are_straight`, computed by all threads."""
    is_straight = np.empty(len(pairs), dtype=np.bool_)

    def compare(start: int, _workspace: Workspace) -> None:
        rows = np.arange(start, min(start + SEARCHED, len(pairs)))
        is_straight[rows] = are_straight(pairs.take(rows), ends.take(rows), scoring)

    run_tasks(compare, range(0, len(pairs), SEARCHED), device.threads, WORKSPACE_BYTES)
    return is_straight


def _gapped(
    pairs: PairBatch, ends: EndCells, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align n pairs with known end cells, in the bands that hold the alignments."""
    windows = windows_of(pairs, ends, scoring)
    offsets = np.empty(len(pairs), dtype=np.int32)
    rows, cigars = [], []
    for width, part in zip(_WIDTHS, _by_width(ends.losses), strict=True):
        order = part[windows.take(part).order()]
        fits = windows.fit(order, width, WORKSPACE_BYTES)
        for some, trace in ((order[fits], _traced_windows), (order[~fits], _filled_windows)):
            starts, runs = trace(windows.take(some), scoring, overhang, width, device)
            offsets[some] = windows.starts[some] + starts
            rows.append(some)
            cigars.append(runs)
    in_order = Ragged.concatenate(cigars).take(_places(rows))
    return AlignmentBatch(ends.scores(pairs, scoring), offsets, in_order)


def _by_width(losses: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Return the rows whose losses fit one byte, and the others."""
    is_narrow = losses < largest_loss(_WIDTHS[0])
    return [np.flatnonzero(is_narrow), np.flatnonzero(~is_narrow)]


def _traced_windows(
    windows: Windows, scoring: Scoring, overhang: Overhang, width: int, device: CpuDevice
) -> tuple[NDArray[np.int32], Ragged]:
    """Return the offsets in n windows, int32[n], and the CIGARs; side by side if similar."""
    traces = Traces.of(windows)

    def trace(start: int, workspace: Workspace) -> None:
        rows = np.arange(start, min(start + FILLED, len(windows.pairs)))
        size = int(windows.scratch_bytes(rows, width).max())
        scratch = workspace.array("windows", (size,), np.uint8)
        trace_some(windows, scoring, overhang, rows, scratch, traces, width=width)

    run_tasks(trace, range(0, len(windows.pairs), FILLED), device.threads, WORKSPACE_BYTES)
    return traces.offsets, Ragged.gather(traces.runs, traces.starts, traces.counts)


def _filled_windows(
    windows: Windows, scoring: Scoring, overhang: Overhang, _width: int, device: CpuDevice
) -> tuple[NDArray[np.int32], Ragged]:
    """Return as `_traced_windows`, for windows of any size."""
    offsets = np.empty(len(windows.pairs), dtype=np.int32)
    groups = _groups(windows.pairs, np.arange(len(windows.pairs)))
    cigars = [match_cigars(groups[0])] * len(groups)

    def trace(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        group, band = windows.pairs.take(rows), windows.band(rows)
        lanes = LaneGroup(group, band, scoring, overhang, workspace, with_directions=True)
        lanes.fill_to_corners(windows.starts[rows] > 0)
        lengths = windows.pairs.query_lengths[rows] + windows.clipped[rows]
        offsets[rows], cigars[number] = lanes.trace_back(lengths)

    run_tasks(trace, range(1, len(groups)), device.threads, WORKSPACE_BYTES)
    return offsets, Ragged.concatenate(cigars)


def _filled(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align n pairs by whole matrices with directions, with any weights."""
    scores = np.empty(len(pairs), dtype=np.int32)
    offsets = np.empty(len(pairs), dtype=np.int32)
    lengths = pairs.query_lengths
    groups = _groups(pairs, _by_size(pairs))
    cigars = [match_cigars(groups[0])] * len(groups)

    def align(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        lanes = _whole_matrices(
            pairs.take(rows), scoring, overhang, workspace, with_directions=True
        )
        scores[rows] = lanes.fill()
        offsets[rows], cigars[number] = lanes.trace_back(lengths[rows])

    run_tasks(align, range(1, len(groups)), device.threads, WORKSPACE_BYTES)
    in_order = Ragged.concatenate(cigars).take(_places(groups))
    return AlignmentBatch(scores, offsets, in_order)


def _filled_scores(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> NDArray[np.int32]:
    """Return the scores of `_filled`, int32[n]."""
    scores = np.empty(len(pairs), dtype=np.int32)
    groups = _groups(pairs, _by_size(pairs))

    def score(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        lanes = _whole_matrices(
            pairs.take(rows), scoring, overhang, workspace, with_directions=False
        )
        scores[rows] = lanes.fill()

    run_tasks(score, range(1, len(groups)), device.threads, WORKSPACE_BYTES)
    return scores


def _whole_matrices(
    pairs: PairBatch,
    scoring: Scoring,
    overhang: Overhang,
    workspace: Workspace,
    *,
    with_directions: bool,
) -> LaneGroup:
    band = Band(-int(pairs.query_lengths.max()), int(pairs.reference_lengths.max()))
    return LaneGroup(pairs, band, scoring, overhang, workspace, with_directions=with_directions)


def _by_size(pairs: PairBatch) -> NDArray[np.int64]:
    """Return row numbers, the largest pairs first."""
    return np.lexsort((pairs.reference_lengths, pairs.query_lengths))[::-1]


def _groups(pairs: PairBatch, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return row numbers of groups of pairs that follow each other in an order of them."""
    reference_lengths, query_lengths = pairs.reference_lengths, pairs.query_lengths
    groups = [order[:0]]  # so that there is one
    start = 0
    while start < order.size:
        part = order[start : start + LANES]
        rows, columns = int(reference_lengths[part].max()), int(query_lengths[part].max())
        lanes = _lane_count(rows, columns)
        groups.append(order[start : start + lanes])
        start += lanes
    return groups


def _places(groups: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return for each pair its place in the groups, end to end."""
    rows = np.concatenate(groups)
    places = np.empty_like(rows)
    places[rows] = np.arange(rows.size)
    return places


def _lane_count(rows: int, columns: int) -> int:
    """Return the number of lanes that fit the workspace; below LANES for very long sequences."""
    lanes = LANES
    while lanes > 1 and _kept_rows_bytes(rows, columns, lanes) > WORKSPACE_BYTES // 2:
        lanes //= 2
    return lanes


def _kept_rows_bytes(rows: int, columns: int, lanes: int) -> int:
    """Return the bytes of kept rows when kept rows and direction blocks are of equal size."""
    return int(2 * rows**0.5) * columns * lanes
