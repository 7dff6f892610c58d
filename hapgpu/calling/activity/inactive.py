"""Inactive regions: what is between active regions, in parts of at most 300 bases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.activity.cutting import MAX_RUN, THRESHOLD, Profile
from hapgpu.runtime.jit import njit


def inactive_start(profile: Profile, first: int, position: int, *, is_start: bool) -> int | None:
    """Return the start of the run of inactive states at a position.

    Of a run that covers all positions between two multiples of `MAX_RUN`, the part after the second
    one is a run of its own; GATK would look back without limit.

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
        None if it is not known from `first` on.
    """
    found = int(_run_start(profile, first, position))
    if found >= 0:
        return found
    return first if is_start else None


def cut_inactive(
    starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, last: int, max_size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends, int64[r] each, of the inactive regions that start in a range.

    Parameters
    ----------
    starts, ends
        int64[s]: runs of inactive states.
    first, last
        Range of positions on the contig, half-open.
    max_size
        Length of a region, at most.
    """
    room = (ends - starts) // max_size + (ends - starts) // MAX_RUN + 2
    out = np.empty((int(room.sum()), 2), dtype=np.int64)
    count = _cut(starts, ends, first, last, max_size, out)
    return out[:count, 0].copy(), out[:count, 1].copy()


@njit
def run_end(profile: Profile, start: int, limit: int) -> int:
    """Return the end of the run of inactive states from a position on; at most `limit`."""
    end, limit = start, min(limit, profile.start + profile.states.size)
    while end < limit and profile.states[end - profile.start] <= THRESHOLD:
        end += 1
    return end


@njit
def _run_start(profile: Profile, first: int, position: int) -> int:
    multiple = -1  # the last position that a long run may end at
    for at in range(position, first - 1, -1):
        if profile.states[at - profile.start] > THRESHOLD:
            return at + 1
        if multiple < 0 and at % MAX_RUN == 0:
            multiple = at
        elif multiple >= 0 and multiple - at == MAX_RUN:
            return multiple
    return -1


@njit
def _cut(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: int,
    last: int,
    max_size: int,
    out: NDArray[np.int64],
) -> int:
    """Fill starts and ends; return their number."""
    count = 0
    for run in range(starts.size):
        start = origin = starts[run]
        while start < ends[run]:
            end = min(start + max_size, ends[run])
            multiple = -(-(start + 1) // MAX_RUN) * MAX_RUN
            if multiple - origin >= MAX_RUN and multiple < end:
                end = multiple
            if first <= start < last:
                out[count, 0], out[count, 1] = start, end
                count += 1
            start = end
    return count
