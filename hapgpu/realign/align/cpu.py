"""Aligner on the CPU: pairs of similar size in lanes, groups of pairs in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import match_cigars
from hapgpu.realign.align.lane_group import LaneGroup, Workspace
from hapgpu.realign.align.ungapped import UNPROVED, completed, ungapped_alignments
from hapgpu.realign.scoring import Overhang, Scoring
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
    others = _aligned(pairs.take(offsets == UNPROVED), scoring, overhang, device)
    return completed(pairs, offsets, scores, others)


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    offsets, scores = _ungapped(pairs, scoring, overhang, device)
    rest = np.flatnonzero(offsets == UNPROVED)
    groups = [rest[rows] for rows in _groups(pairs.take(rest))]

    def score(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        lanes = LaneGroup(pairs.take(rows), scoring, overhang, workspace, with_directions=False)
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
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CpuDevice
) -> AlignmentBatch:
    """Align pairs by the recurrences."""
    scores = np.empty(len(pairs), dtype=np.int32)
    offsets = np.empty(len(pairs), dtype=np.int32)
    groups = [np.empty(0, dtype=np.int64), *_groups(pairs)]  # so that there is one
    cigars = [match_cigars(groups[0])] * len(groups)

    def align(number: int, workspace: Workspace) -> None:
        rows = groups[number]
        lanes = LaneGroup(pairs.take(rows), scoring, overhang, workspace, with_directions=True)
        scores[rows] = lanes.fill()
        offsets[rows], cigars[number] = lanes.trace_back()

    _run_groups(align, range(1, len(groups)), device.threads)
    order = np.empty(len(pairs), dtype=np.int64)
    order[np.concatenate(groups)] = np.arange(len(pairs))
    return AlignmentBatch(scores, offsets, Ragged.concatenate(cigars).take(order))


def _groups(pairs: PairBatch) -> list[NDArray[np.int64]]:
    """Return row numbers of groups of pairs of similar size, the largest pairs first."""
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
