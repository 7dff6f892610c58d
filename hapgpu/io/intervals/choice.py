"""Intervals of a run: those of -L, united or intersected, without those excluded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np

from hapgpu.errors import UsageError
from hapgpu.io.intervals.given import GivenIntervals, IntervalTexts, read_given
from hapgpu.io.intervals.notation import is_unmapped
from hapgpu.io.intervals.sets import NO_INTERVALS, IntervalSet, Line

logger = logging.getLogger(__name__)

INCLUDED: Final = "-L"
EXCLUDED: Final = "--exclude-intervals"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRules:
    """Rules that combine intervals.

    Attributes
    ----------
    padding, exclusion_padding
        Bases that intervals, and excluded intervals, are grown by on each side, before they are
        combined.
    is_intersection
        Whether only bases that each value of -L has are used, not all that any has.
    keeps_abutting
        Whether intervals that abut stay apart.
    """

    padding: int = 0
    exclusion_padding: int = 0
    is_intersection: bool = False
    keeps_abutting: bool = False


@dataclass(frozen=True, slots=True)
class IntervalChoice:
    """Intervals that the user gave.

    Attributes
    ----------
    included
        Intervals of each -L; none for all contigs.
    excluded
        Intervals of each --exclude-intervals.
    rules
        How they are combined.
    """

    included: Sequence[GivenIntervals] = ()
    excluded: Sequence[GivenIntervals] = ()
    rules: IntervalRules = IntervalRules()

    @property
    def is_everything(self) -> bool:
        """Whether there are no intervals."""
        return not (self.included or self.excluded)

    def on(
        self, line: Line, lengths: Mapping[str, int], whole: Callable[[], Iterable[str]]
    ) -> IntervalSet:
        """Return the intervals of the run.

        Parameters
        ----------
        line
            The line of the contigs of the reference.
        lengths
            Their lengths.
        whole
            Returns the contigs that are used without -L.

        Raises
        ------
        UsageError
            An interval is malformed or outside the reference; all of -L have no base in common; or
            nothing is left.
        InputError
            A line of a list is malformed.
        """
        rules = self.rules
        found = self._included(line, lengths) if self.included else line.whole(whole())
        if not self.excluded:
            return found
        excluded = _united(
            [each.on(line, lengths, rules.exclusion_padding) for each in self.excluded]
        )
        found = found.without(excluded)
        if not len(found):
            raise UsageError(f"{EXCLUDED}: nothing is left to call; exclude less")
        return found

    def _included(self, line: Line, lengths: Mapping[str, int]) -> IntervalSet:
        rules = self.rules
        parts = [each.on(line, lengths, rules.padding) for each in self.included]
        if rules.padding:  # as in GATK, merged even if they only abut
            parts = [part.merged() for part in parts]
        if not rules.is_intersection:
            return _united(parts).merged(keeps_abutting=rules.keeps_abutting)
        sets = (part.merged(keeps_abutting=rules.keeps_abutting) for part in parts)
        found = reduce(IntervalSet.common, sets)
        if not len(found) and len(parts) > 1:
            raise UsageError(
                f"{INCLUDED}: no base in common; drop one, or --interval-set-rule intersection"
            )
        return found


def _united(parts: Sequence[IntervalSet]) -> IntervalSet:
    """Return all intervals, not merged."""
    given = [NO_INTERVALS, *parts]
    return IntervalSet(
        np.concatenate([part.starts for part in given]),
        np.concatenate([part.ends for part in given]),
    )


ALL_INTERVALS: Final = IntervalChoice()


def read_choice(
    included: Sequence[str], excluded: Sequence[str], rules: IntervalRules, max_record: int
) -> IntervalChoice:
    """Read the files of -L and --exclude-intervals; texts are kept until the contigs are known.

    Warns of a file without intervals.

    Parameters
    ----------
    included, excluded
        The values of the options.
    rules
        How the intervals are combined.
    max_record
        As of `read_given`.

    Raises
    ------
    UsageError
        A value has a semicolon, or reads without a position are excluded.
    InputError
        As `read_given`.
    """
    chosen = [read_given(INCLUDED, value, max_record) for value in included]
    left_out = [read_given(EXCLUDED, value, max_record) for value in excluded]
    for each in chosen:
        if each.is_empty:
            logger.warning("%s: no region, nothing selected", each.name)
    for each in left_out:
        if each.is_empty:
            logger.warning("%s: no region, nothing excluded", each.name)
    for each in left_out:
        if isinstance(each, IntervalTexts) and any(map(is_unmapped, each.texts)):
            raise UsageError(f"{EXCLUDED} {each.name}: cannot exclude unmapped; drop it")
    return IntervalChoice(chosen, left_out, rules)
