"""Calling intervals that -L and --exclude-intervals choose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from hapgpu.calling.reads.segments import CallingIntervals, calling_intervals
from hapgpu.io.genome.regions import RegionChoice
from hapgpu.io.intervals.choice import IntervalChoice
from hapgpu.io.intervals.sets import Line

logger = logging.getLogger(__name__)


def chosen_intervals(
    choice: RegionChoice,
    given: IntervalChoice,
    lengths: Mapping[str, int],
    whole: Callable[[], Iterable[str]],
) -> CallingIntervals:
    """Return the calling intervals if there are others than regions: what both have.

    Warns if both have nothing in common.

    Parameters
    ----------
    choice
        The regions.
    given
        The intervals; those that abut may be apart.
    lengths
        Length of each contig of the reference; the intervals follow their order.
    whole
        Returns the contigs that are called without `given.included`.

    Raises
    ------
    UsageError
        As `calling_intervals` and `IntervalChoice.on`.
    InputError
        As `IntervalChoice.on`, or `whole`.
    """
    line = Line(lengths)
    found = given.on(line, lengths, whole)
    if not choice.is_everything:
        regions = calling_intervals(choice, lengths)
        numbers = line.numbers_of(regions.contigs)
        common = found.common(line.set_of(numbers, regions.starts, regions.ends))
        if len(found) and not len(common):
            names = ", ".join(each.name for each in (*given.included, *given.excluded))
            logger.warning("%s: no base in common with -r", names)
        found = common
    return CallingIntervals(*line.placed(found))
