"""Intervals as text, in GATK's notation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from hapgpu.io.genome.regions import contig_hint
from hapgpu.io.intervals.rows import Fields, Row, column, numbers_of
from hapgpu.io.text.values import excerpt, parse_position

UNMAPPED: Final = "unmapped"
"""Stands for reads without a position, in any case: `call` has nothing to do with them."""
_USUAL: Final = re.compile(r"^(.+):([0-9]{1,10})-([0-9]{1,10})$", re.MULTILINE)
_MALFORMED: Final = "malformed; write contig, contig:position, contig:start-end or contig:start+"


class MalformedIntervalError(Exception):
    """A text is not an interval; the message says why."""


class OutsideReferenceError(MalformedIntervalError):
    """An interval is not in the reference; the message says why."""


def is_unmapped(text: str) -> bool:
    """Tell whether a text stands for reads without a position."""
    return text.strip().lower() == UNMAPPED


def parse_interval(text: str, lengths: Mapping[str, int]) -> Row:
    """Parse `contig`, `contig:position`, `contig:start-end` or `contig:start+`.

    Positions are 1-based, both included, and may have commas. `contig:start+` runs to the end of
    the contig. Each contig of the reference may be meant, so names may have colons.

    Parameters
    ----------
    text
        The interval; spaces around it do not count.
    lengths
        Length of each contig of the reference.

    Raises
    ------
    MalformedIntervalError
        The text is not an interval, or has two meanings: its name is a contig, and so is the name
        before the last colon.
    OutsideReferenceError
        The reference lacks the contig, or the interval ends after it.
    """
    text = text.strip()
    is_contig = text in lengths
    contig, _, interval = text.rpartition(":")
    if contig not in lengths:
        if not is_contig:
            raise OutsideReferenceError(_unknown(text, lengths))
        return _within(Row(text, 0, lengths[text]), lengths)
    try:
        start, end = _parse_range(interval, lengths[contig])
    except MalformedIntervalError:
        if not is_contig:
            raise
        return _within(Row(text, 0, lengths[text]), lengths)
    if is_contig:
        raise MalformedIntervalError(
            f"ambiguous, contigs '{excerpt(contig)}' and '{excerpt(text)}' exist; give it in a BED"
            " file"
        )
    return _within(Row(contig, start, end), lengths)


def usual_intervals(texts: Sequence[str], lengths: Mapping[str, int]) -> Fields | None:
    """Parse many intervals `contig:start-end` at once.

    Parameters
    ----------
    texts
        The intervals, without line ends.
    lengths
        Length of each contig of the reference.

    Returns
    -------
    The intervals; None if one has another form or meaning, or is malformed or outside the
    reference: then `parse_interval` has to parse each.
    """
    found = _USUAL.findall("\n".join(texts))
    if len(found) != len(texts) or not lengths.keys().isdisjoint(texts):
        return None
    contigs = column(found, 0)
    if not lengths.keys() >= set(contigs):
        return None
    starts, ends = (numbers_of(map(int, column(found, number))) for number in (1, 2))
    fields = Fields(contigs, starts - 1, ends)
    last = numbers_of(map(lengths.__getitem__, contigs))
    is_within = (fields.starts >= 0) & (fields.starts < fields.ends) & (fields.ends <= last)
    return fields if is_within.all() else None


def _unknown(text: str, lengths: Mapping[str, int]) -> str:
    """Return the message on a contig that the reference lacks, by the likelier reading."""
    contig, _, interval = text.rpartition(":")
    named = contig if contig and interval[:1].isdigit() else text
    return f"no contig '{excerpt(named)}' in the reference{contig_hint(named, lengths)}"


def _parse_range(interval: str, length: int) -> tuple[int, int]:
    """Return the 0-based start and the end of the text after the colon."""
    start_text, dash, end_text = interval.rpartition("-")
    if interval.endswith("+"):
        start, end = _position(interval[:-1]), length
    elif dash:
        start, end = _position(start_text), _position(end_text)
    else:
        start = end = _position(interval)
    if start == 0 or end == 0:
        raise MalformedIntervalError("positions start at 1; correct it")
    if end < start:
        raise MalformedIntervalError(f"end {end:,} is before start {start:,}; correct it")
    return start - 1, end


def _position(digits: str) -> int:
    position = parse_position(digits.replace(",", ""))
    if position is None:
        raise MalformedIntervalError(_MALFORMED)
    return position


def _within(row: Row, lengths: Mapping[str, int]) -> Row:
    length = lengths[row.contig]
    if row.end > length or not length:
        raise OutsideReferenceError(
            f"{excerpt(row.contig)} has only {length:,} bases; correct the interval"
        )
    return row
