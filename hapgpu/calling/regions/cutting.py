"""Activity spread over neighbouring positions, and cut into active regions."""

from __future__ import annotations

from math import exp, fsum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit, njit_inlined

MAX_PROPAGATION: Final = 50
"""Positions on both sides of a locus that a soft-clip locus reaches without the filter, and the
longest wing of a kernel."""
_DEVIATION: Final = 17.0
_MIN_WEIGHT: Final = 1e-5

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


def gaussian_kernel(
    deviation: float = _DEVIATION, max_wing: int = MAX_PROPAGATION
) -> NDArray[np.float64]:
    """Return float64[2 * wing + 1]: weights at -wing to wing, whose sum is 1.

    The wing is as long as the weights, normalised with the longest wing, are at least 1e-5.
    """
    kernel = _kernel(deviation, max_wing)
    wing = max_wing
    while wing > 0 and kernel[max_wing - wing] < _MIN_WEIGHT:
        wing -= 1
    return _kernel(deviation, wing)


def _kernel(deviation: float, wing: int) -> NDArray[np.float64]:
    weights = [exp(-(d**2) / (2.0 * deviation**2)) for d in range(-wing, wing + 1)]
    return np.array(weights) / fsum(weights)


def soft_clip_counts(
    clip_reads: NDArray[np.int32],
    clip_bases: NDArray[np.int64],
    start: int,
    contig_length: int,
    *,
    max_clip: int,
) -> NDArray[np.int64]:
    """Return int64[p]: how often each locus adds its probability; 1 for most.

    A soft-clip locus, with more than 6 bases of high quality per clipped read on average, adds it
    once per position within that number of bases (at most `max_clip`) that is on the contig. GATK's
    filter puts all of them on the locus itself.

    Parameters
    ----------
    clip_reads, clip_bases
        int32[p], int64[p]: as in `Pileup`.
    start
        Position of the first locus.
    contig_length
        Bases of the contig.
    max_clip
        Bases of a soft clip that count, at most.
    """
    counts = np.ones(clip_reads.size, dtype=np.int64)
    loci = np.flatnonzero(clip_bases > 6 * clip_reads.astype(np.int64))
    reach = np.minimum(clip_bases[loci] // clip_reads[loci], max_clip)
    first = np.maximum(start + loci - reach, 0)
    last = np.minimum(start + loci + reach, contig_length - 1)
    counts[loci] = last - first + 1
    return counts


def band_pass(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return float64[p]: the states, sums of the weighted probabilities of the loci around.

    Parameters
    ----------
    probabilities
        float64[p] of consecutive loci.
    counts
        int64[p]: how often each is added.
    kernel
        float64[2 * wing + 1].
    """
    states = np.zeros(probabilities.size, dtype=np.float64)
    _add_all(read_only(probabilities), read_only(counts), read_only(kernel), states)
    return states


@njit
def _add_all(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    states: NDArray[np.float64],
) -> None:
    # A state is the same in every window: its loci are added in ascending order.
    wing = kernel.size // 2
    for locus in range(probabilities.size):
        probability = probabilities[locus]
        if probability > 0.0:
            left, right = max(locus - wing, 0), min(locus + wing + 1, states.size)
            for _ in range(counts[locus]):
                for at in range(left, right):
                    states[at] += probability * kernel[at - locus + wing]


@njit
def state_without(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    position: int,
    last: int,
) -> float:
    """Return the state of a position as it is before the loci from `last` on are added.

    Parameters
    ----------
    probabilities, counts, kernel
        float64[p], int64[p], float64[2 * wing + 1]: as in `Profile`.
    position
        Number of the locus.
    last
        Number of the first locus that is not added.
    """
    wing = kernel.size // 2
    state = 0.0
    for locus in range(max(position - wing, 0), min(last, probabilities.size)):
        probability = probabilities[locus]
        if probability > 0.0:
            for _ in range(counts[locus]):
                state += probability * kernel[position - locus + wing]
    return state
