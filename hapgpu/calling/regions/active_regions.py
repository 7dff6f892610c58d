"""Active and inactive regions of a segment: the same, wherever the segment and its window start."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.batches import LEAD, MAX_JUNCTION, PADDING, ActiveRegions, SegmentReads
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.calling.regions.activity import activity_probabilities
from hapgpu.calling.regions.cutting import (
    MAX_PROPAGATION,
    MAX_RUN,
    THRESHOLD,
    Profile,
    band_pass,
    cut_regions,
    gaussian_kernel,
    known_start,
    soft_clip_counts,
)
from hapgpu.calling.regions.junctions import NO_JUNCTIONS, Junctions
from hapgpu.calling.regions.pileup import Pileup, pileup_of
from hapgpu.calling.regions.polyploid_activity import polyploid_probabilities
from hapgpu.runtime.jit import njit

_MAX_SIZE: Final = 300
_MAX_RATIOS: Final = 1 << 22
"""Likelihood ratios of loci of a high ploidy that are in memory at a time: 32 MiB."""
ROOM_BEFORE: Final = 1000
"""Bases of a window before a segment and its lead that are mostly enough."""
MAX_ROOM_BEFORE: Final = 2 * MAX_RUN + MAX_PROPAGATION + MAX_JUNCTION
"""Bases of a window before a segment and its lead that are always enough."""
ROOM_AFTER: Final = _MAX_SIZE + MAX_JUNCTION + max(PADDING, MAX_PROPAGATION + 1)
"""Bases of a window after a segment that are always enough."""


def active_regions(
    reads: SegmentReads,
    samples: int,
    options: VariantOptions,
    junctions: Junctions = NO_JUNCTIONS,
    *,
    min_base_quality: int = 10,
) -> ActiveRegions | None:
    """Return the active regions that start in a segment or at most `LEAD` before it.

    Positions of given alleles are active, whatever the reads.

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
    options: VariantOptions,
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
    options: VariantOptions,
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
    options: VariantOptions,
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
    if options.ploidies.highest > DIPLOID:
        _put_polyploid(probabilities, reads, samples, options, start, min_base_quality)
    for starts, ends in (
        (junctions.starts - 1, junctions.ends + 1),  # from the base before to the base after
        (reads.given.starts, reads.given.ends),
    ):
        _make_active(probabilities, read_only(starts), read_only(ends), start)
    kernel = gaussian_kernel()
    counts = soft_clip_counts(
        pileup.clip_reads,
        pileup.clip_bases,
        start,
        segment.contig_length,
        max_clip=MAX_PROPAGATION + kernel.size // 2,
    )
    states = band_pass(probabilities, counts, kernel)
    return Profile(
        start, read_only(probabilities), read_only(counts), read_only(kernel), read_only(states)
    )


def _put_polyploid(
    probabilities: NDArray[np.float64],
    reads: SegmentReads,
    samples: int,
    options: VariantOptions,
    start: int,
    min_base_quality: int,
) -> None:
    """Replace the probabilities of the loci from `start` on with more than two copies.

    Fewer copies are as two: GATK loses haploid variants otherwise.
    """
    loci = start + np.arange(probabilities.size)
    ploidies = options.ploidies.at(reads.segment.contig, loci, loci + 1)
    for ploidy in np.unique(ploidies[ploidies > DIPLOID]).tolist():
        rows = np.flatnonzero(ploidies == ploidy)
        size = max(_MAX_RATIOS // (ploidy * samples), 1)
        for first in range(int(rows[0]), int(rows[-1]) + 1, size):
            own = rows[(rows >= first) & (rows < first + size)]
            if own.size:
                span = start + int(own[0]), start + int(own[-1]) + 1
                pileup_by = partial(_pileup_by, reads, samples, span, min_quality=min_base_quality)
                found = polyploid_probabilities(pileup_by, ploidy, options, min_base_quality)
                probabilities[own] = found[own - own[0]]


def _pileup_by(
    reads: SegmentReads,
    samples: int,
    loci: tuple[int, int],
    table: NDArray[np.int64],
    *,
    min_quality: int,
) -> Pileup:
    return pileup_of(
        reads.reads,
        reads.samples,
        samples,
        reads.reference,
        *loci,
        min_quality=min_quality,
        table=table,
    )


@njit
def _make_active(
    probabilities: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: int,
) -> None:
    """Make intervals active; `first` is the position of the first of the probabilities."""
    for row in range(starts.size):
        end = min(ends[row] - first, probabilities.size)
        for at in range(max(starts[row] - first, 0), end):
            probabilities[at] = 1.0


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
