"""Cutting of states into active regions, from any position on.

GATK keeps a list of the states from the start of the next region, and cuts a region off when the
list has 400 states. Its active regions depend on the finished states only, except for one state:

- The first region of a list starts at its first active state, and a region ends at the first
  inactive state, 300 positions later at most. The list is then finished for the 300 positions.
- A list from position a has 400 states at the first active locus from a + 349 on, whose
  contributions extend it by 50, or at locus a + 399. At locus a + 349, the state of a + 300 lacks
  the contribution of locus a + 350. The best cut of a long region compares with this state.

So the cutting of a contig can begin at any inactive position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.activity.band_pass import MAX_PROPAGATION, state_without
from hapgpu.runtime.jit import njit, njit_inlined

_THRESHOLD: Final = 0.002
"""States above this are active."""

MAX_RUN: Final = 16_384
"""A run of active states that covers all positions between two multiples of this number ends at
the second one; GATK would look back without limit to know where to cut."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Activity of p consecutive positions of a contig.

    Attributes
    ----------
    start
        Position of the first.
    probabilities
        float64[p].
    counts
        int64[p]: how often each locus adds its probability to the states.
    kernel
        float64[2 * wing + 1], wing at most `MAX_PROPAGATION`.
    states
        float64[p], by `band_pass`.
    """

    start: int
    probabilities: NDArray[np.float64]
    counts: NDArray[np.int64]
    kernel: NDArray[np.float64]
    states: NDArray[np.float64]


def known_start(profile: Profile, first: int, position: int, *, is_start: bool) -> int | None:
    """Return the last position, at most `position`, at which no active region continues.

    Parameters
    ----------
    profile
        Activity; finished from `first` on.
    first, position
        Positions on the contig, within the profile.
    is_start
        Whether the calling interval starts at `first`.
    """
    found = _known_start(
        read_only(profile.states), first - profile.start, position - profile.start, profile.start
    )
    if found >= 0:
        return profile.start + int(found)
    return first if is_start else None


def cut_regions(
    profile: Profile, first: int, last: int, *, min_size: int = 50, max_size: int = 300
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends, int64[r] each, of the active regions that start in a range.

    Parameters
    ----------
    profile
        Activity; finished in the range and `max_size` positions after it, or to its end.
    first, last
        Range of positions on the contig, half-open; no active region continues at `first`.
    min_size, max_size
        Lengths of the parts of a run of active states.
    """
    starts = np.empty(max(last - first, 0), dtype=np.int64)
    ends = np.empty_like(starts)
    count = _cut(
        read_only(profile.probabilities),
        read_only(profile.counts),
        read_only(profile.kernel),
        read_only(profile.states),
        profile.start,
        first - profile.start,
        last - profile.start,
        min_size,
        max_size,
        starts,
        ends,
    )
    return profile.start + starts[:count], profile.start + ends[:count]


@njit
def _known_start(states: NDArray[np.float64], first: int, position: int, start: int) -> int:
    """Return an index of `states`, or -1; `start` is the position of the first state."""
    multiple = np.int64(-1)
    for at in range(position, first - 1, -1):
        if states[at] <= _THRESHOLD:
            return at
        if multiple < 0 and (start + at) % MAX_RUN == 0:
            multiple = at
        if multiple >= 0 and multiple - at == MAX_RUN:
            return multiple
    return -1


@njit
def _cut(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    states: NDArray[np.float64],
    start: int,
    first: int,
    last: int,
    min_size: int,
    max_size: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Fill the indices of starts and ends; return their number."""
    count, at, run = np.int64(0), np.int64(first), np.int64(first)
    while at < last:
        if states[at] <= _THRESHOLD:
            at += 1
            run = at
            continue
        end, limit = at + 1, min(at + max_size, states.size)
        while (
            end < limit
            and states[end] > _THRESHOLD
            and not ((start + end) % MAX_RUN == 0 and end - run >= MAX_RUN)
        ):
            end += 1
        if end == at + max_size:
            next_state = _next_state(probabilities, counts, kernel, states, at, max_size)
            end = _best_cut(states, at, min_size, max_size, next_state)
        starts[count], ends[count] = at, end
        count += 1
        at = end
    return count


@njit_inlined
def _next_state(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    states: NDArray[np.float64],
    at: int,
    max_size: int,
) -> float:
    """Return the state after a region of the largest size, as it is when the region is cut.

    -1 if the list ends there: its last state is no local minimum.
    """
    last = at + max_size + MAX_PROPAGATION - 1
    if at + max_size >= states.size:
        return -1.0
    if last < states.size and probabilities[last] > 0.0:
        return state_without(probabilities, counts, kernel, at + max_size, last + 1)
    return states[at + max_size]


@njit_inlined
def _best_cut(
    states: NDArray[np.float64], at: int, min_size: int, max_size: int, next_state: float
) -> int:
    """Return the end of a long region: after its lowest local minimum, the last of equals."""
    best, lowest = at + max_size - 1, np.inf
    for k in range(max_size - 1, max(min_size - 1, 1) - 1, -1):
        state = states[at + k]
        after = states[at + k + 1] if k < max_size - 1 else next_state
        if state < lowest and state <= after and state < states[at + k - 1]:
            lowest, best = state, at + k
    return best + 1
