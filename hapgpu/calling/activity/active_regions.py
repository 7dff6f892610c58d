"""Active regions of a segment: the same, wherever the segment and its window start."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.activity.band_pass import (
    MAX_PROPAGATION,
    band_pass,
    gaussian_kernel,
    soft_clip_counts,
)
from hapgpu.calling.activity.cutting import MAX_RUN, Profile, cut_regions, known_start
from hapgpu.calling.activity.inactive import cut_inactive, inactive_start, run_end
from hapgpu.calling.activity.junctions import NO_JUNCTIONS, Junctions
from hapgpu.calling.activity.pileup import pileup_of
from hapgpu.calling.activity.probabilities import activity_probabilities
from hapgpu.calling.batches import LEAD, MAX_JUNCTION, PADDING, ActiveRegions, SegmentReads
from hapgpu.calling.options import GenotypingOptions
from hapgpu.runtime.jit import njit

_MAX_SIZE: Final = 300

ROOM_BEFORE: Final = 1000
"""Bases of a window before a segment and its lead that are mostly enough."""

MAX_ROOM_BEFORE: Final = 2 * MAX_RUN + MAX_PROPAGATION + MAX_JUNCTION
"""Bases of a window before a segment and its lead that are always enough."""

ROOM_AFTER: Final = _MAX_SIZE + MAX_JUNCTION + max(PADDING, MAX_PROPAGATION + 1)
"""Bases of a window after a segment that are always enough."""


def active_regions(
    reads: SegmentReads,
    samples: int,
    options: GenotypingOptions,
    junctions: Junctions = NO_JUNCTIONS,
    *,
    min_base_quality: int = 10,
) -> ActiveRegions | None:
    """Return the active regions that start in a segment or at most `LEAD` before it.

    Source: `HaplotypeCallerEngine.isActive`, `BandPassActivityProfile` and `ActivityProfile` of
    broadinstitute/gatk. One difference: see `MAX_RUN`.

    Parameters
    ----------
    reads
        Reads of the segment: with the bases, qualities and CIGARs of their records.
    samples
        Number of samples.
    options
        Heterozygosity, and the minimum confidence.
    junctions
        Junctions of these reads: all their bases are active, which is no rule of GATK.
    min_base_quality
        Bases count above this quality.

    Returns
    -------
    regions
        None if the window starts too late to tell; `MAX_ROOM_BEFORE` is always enough.

    Raises
    ------
    ValueError
        The segment is not within its interval, or the window ends too early, or see `pileup_of`.
    """
    found = _cut_window(reads, samples, options, junctions, min_base_quality)
    return None if found is None else found.active


def all_regions(
    reads: SegmentReads,
    samples: int,
    options: GenotypingOptions,
    junctions: Junctions = NO_JUNCTIONS,
    *,
    min_base_quality: int = 10,
) -> tuple[ActiveRegions, ActiveRegions] | None:
    """Return the active regions as `active_regions`, and the inactive ones.

    The inactive regions start in the segment; with the active ones that start there, they cover
    each position once. The parameters and errors are those of `active_regions`.
    """
    found = _cut_window(reads, samples, options, junctions, min_base_quality)
    if found is None:
        return None
    segment, profile = reads.segment, found.profile
    start: int | None = found.start
    if not found.starts.size or found.starts[0] > segment.start:
        start = inactive_start(profile, found.first, found.start, is_start=found.is_start)
    if start is None:
        return None
    starts = np.append(start, found.ends)
    ends = np.append(found.starts, 0)
    ends[-1] = run_end(profile, int(starts[-1]), segment.end + _MAX_SIZE)
    spans = cut_inactive(starts, ends, segment.start, segment.end, _MAX_SIZE)
    return found.active, _padded(*spans, segment.contig_length)


class _Cut(NamedTuple):
    """Activity of a window, cut into active regions.

    Attributes
    ----------
    profile
        The activity; finished from `first` on.
    first, is_start
        Where the activity is finished from, and whether the calling interval starts there.
    start
        No active region continues here; the active regions from here on are known.
    starts, ends
        int64[s]: the active regions that start from `start` on.
    active
        Those that are computed.
    """

    profile: Profile
    first: int
    is_start: bool
    start: int
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    active: ActiveRegions


def _cut_window(
    reads: SegmentReads,
    samples: int,
    options: GenotypingOptions,
    junctions: Junctions,
    min_base_quality: int,
) -> _Cut | None:
    """Find the active regions of a window; None if it starts too late to tell."""
    segment = reads.segment
    if not segment.interval_start <= segment.start < segment.end <= segment.interval_end:
        raise ValueError("the segment is not within its calling interval")
    if reads.window_end < min(segment.end + ROOM_AFTER, segment.contig_length):
        raise ValueError("the window ends too early")
    profile = _profile(reads, samples, options, junctions, min_base_quality)
    complete = reads.window_start + MAX_JUNCTION if reads.window_start else 0  # junctions from here
    is_start = profile.start == segment.interval_start and complete <= profile.start
    first = profile.start if is_start else max(profile.start, complete) + MAX_PROPAGATION
    lead = max(segment.start - LEAD, segment.interval_start)
    start = known_start(profile, first, lead, is_start=is_start) if first <= lead else None
    if start is None:
        return None
    starts, ends = cut_regions(profile, start, segment.end, max_size=_MAX_SIZE)
    kept = starts >= lead
    active = _padded(starts[kept], ends[kept], segment.contig_length)
    return _Cut(profile, first, is_start, start, starts, ends, active)


def _padded(
    starts: NDArray[np.int64], ends: NDArray[np.int64], contig_length: int
) -> ActiveRegions:
    padded_starts = np.maximum(starts - PADDING, 0)
    return ActiveRegions(starts, ends, padded_starts, np.minimum(ends + PADDING, contig_length))


def _profile(
    reads: SegmentReads,
    samples: int,
    options: GenotypingOptions,
    junctions: Junctions,
    min_base_quality: int,
) -> Profile:
    """Return the activity of the window, within the calling interval."""
    segment = reads.segment
    start = max(reads.window_start, segment.interval_start)
    end = max(start, min(reads.window_end, segment.interval_end))
    pileup = pileup_of(
        reads.reads,
        reads.samples,
        samples,
        reads.reference,
        start,
        end,
        min_quality=min_base_quality,
    )
    probabilities = activity_probabilities(pileup, options)
    _make_active(probabilities, read_only(junctions.starts), read_only(junctions.ends), start)
    kernel = gaussian_kernel()
    counts = soft_clip_counts(
        pileup.clip_reads,
        pileup.clip_bases,
        start,
        segment.contig_length,
        max_clip=MAX_PROPAGATION + kernel.size // 2,
    )
    states = band_pass(probabilities, counts, kernel)
    return Profile(start, *map(read_only, (probabilities, counts, kernel, states)))


@njit
def _make_active(
    probabilities: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: int,
) -> None:
    """Make junctions active, from the base before each to the base after it.

    `first` is the position of the first of the probabilities.
    """
    for row in range(starts.size):
        end = min(ends[row] + 1 - first, probabilities.size)
        for at in range(max(starts[row] - 1 - first, 0), end):
            probabilities[at] = 1.0
