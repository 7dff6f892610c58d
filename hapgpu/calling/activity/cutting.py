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

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.activity.band_pass import MAX_PROPAGATION, state_without
from hapgpu.runtime.jit import njit, njit_inlined

THRESHOLD: Final = 0.002
"""States above this are active."""

MAX_RUN: Final = 16_384
"""A run of active states that covers all positions between two multiples of this number ends at
the second one; GATK would look back without limit to know where to cut."""


class Profile(NamedTuple):
    """Activity of p consecutive positions of a contig, in read-only arrays.

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
        Positions on the contig, ascending, within the profile.
    is_start
        Whether the calling interval starts at `first`.

    Returns
    -------
    start
        None if there is none from `first` on.
    """
    found = int(_known_start(profile, first, position))
    if found >= 0:
        return found
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
    last = min(last, profile.start + profile.states.size)
    regions = np.empty((max(last - first, 0), 2), dtype=np.int64)
    count = _cut(profile, first, last, min_size, max_size, regions)
    return regions[:count, 0].copy(), regions[:count, 1].copy()


@njit
def _known_start(profile: Profile, first: int, position: int) -> int:
    multiple = -1  # the last position that a long run may end at
    for at in range(position, first - 1, -1):
        if profile.states[at - profile.start] <= THRESHOLD:
            return at
        if multiple < 0 and at % MAX_RUN == 0:
            multiple = at
        elif multiple - at == MAX_RUN:
            return multiple
    return -1


@njit
def _cut(
    profile: Profile,
    first: int,
    last: int,
    min_size: int,
    max_size: int,
    regions: NDArray[np.int64],
) -> int:
    """Fill starts and ends; return their number."""
    states, origin = profile.states, profile.start
    profile_end = origin + states.size
    count, start, run = 0, first, first
    while start < last:
        if states[start - origin] <= THRESHOLD:
            start += 1
            run = start
            continue
        end, limit = start + 1, min(start + max_size, profile_end)
        while (
            end < limit
            and states[end - origin] > THRESHOLD
            and not (end % MAX_RUN == 0 and end - run >= MAX_RUN)
        ):
            end += 1
        if end == start + max_size:
            end = _best_cut(profile, start, min_size, max_size)
        regions[count, 0], regions[count, 1] = start, end
        count += 1
        start = end
    return count


@njit_inlined
def _best_cut(profile: Profile, start: int, min_size: int, max_size: int) -> int:
    """Return the end of a long region: after its lowest local minimum, the last of equals."""
    states, at = profile.states, start - profile.start
    best, lowest, after = max_size - 1, np.inf, _next_state(profile, at + max_size)
    for k in range(max_size - 1, max(min_size - 1, 1) - 1, -1):
        state = states[at + k]
        if state < lowest and state <= after and state < states[at + k - 1]:
            lowest, best = state, k
        after = state
    return start + best + 1


@njit
def _next_state(profile: Profile, at: int) -> float:
    """Return the state after a region of the largest size, as it is when the region is cut.

    -1 if the list ends there: its last state is no local minimum.
    """
    if at >= profile.states.size:
        return -1.0
    last = at + MAX_PROPAGATION - 1  # the first locus at which the list may be long enough
    if last < profile.states.size and profile.probabilities[last] > 0.0:
        return state_without(profile.probabilities, profile.counts, profile.kernel, at, last + 1)
    return float(profile.states[at])
