"""Values of -L and --exclude-intervals: texts and files of several formats, read before the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hapgpu.errors import InputError, UsageError
from hapgpu.io.genome.regions import contig_hint
from hapgpu.io.intervals.formats import read_bed_rows, read_interval_list
from hapgpu.io.intervals.names import interval_extension, names_file
from hapgpu.io.intervals.notation import (
    MalformedIntervalError,
    OutsideReferenceError,
    is_unmapped,
    parse_interval,
    usual_intervals,
)
from hapgpu.io.intervals.rows import Fields, IntervalRows, whole_text
from hapgpu.io.intervals.sets import IntervalSet, Line
from hapgpu.io.intervals.variant_spans import read_variant_spans
from hapgpu.io.text.values import excerpt


@dataclass(frozen=True, slots=True)
class IntervalTexts:
    """Intervals as text, whose meaning depends on the contigs of the reference.

    Attributes
    ----------
    option
        The option.
    name
        Its value.
    texts
        The texts, without spaces around them.
    numbers
        The number of the line of each; none if the value itself is the text.
    """

    option: str
    name: str
    texts: Sequence[str]
    numbers: Sequence[int] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no intervals: never, since a list without any is an error."""
        return False

    def on(self, line: Line, lengths: Mapping[str, int], padding: int) -> IntervalSet:
        """Return the intervals on the line of a reference, not merged; as `GivenRows.on`.

        Raises
        ------
        UsageError
            The value is not an interval, or an interval is outside the reference.
        InputError
            A line of the file is not an interval.
        """
        fields = usual_intervals(self.texts, lengths) if self.numbers else None
        found = IntervalRows.of([fields or self._parsed(lengths)])
        contigs = line.numbers_of(found.names)[found.contigs]
        return line.set_of(contigs, found.starts, found.ends, padding)

    def _parsed(self, lengths: Mapping[str, int]) -> Fields:
        rows = []
        for number, text in enumerate(self.texts):
            try:
                if not is_unmapped(text):
                    rows.append(parse_interval(text, lengths))
            except OutsideReferenceError as error:
                raise UsageError(f"{self._where(number)}: {error}") from error
            except MalformedIntervalError as error:
                kind = InputError if self.numbers else UsageError
                raise kind(f"{self._where(number)}: {error}") from error
        return Fields.of(rows)

    def _where(self, number: int) -> str:
        if self.numbers:
            return f"{self.name}, line {self.numbers[number]}"
        return f"{self.option} {excerpt(self.name)}"


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Intervals of a file whose lines name contigs.

    Attributes
    ----------
    name
        The file.
    rows
        The intervals.
    header
        Lengths of contigs that the file claims, by name.
    is_cut
        Whether intervals may end after their contigs, and are cut there.
    """

    name: str
    rows: IntervalRows
    header: Mapping[str, int]
    is_cut: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there are no intervals."""
        return not len(self.rows)

    def on(self, line: Line, lengths: Mapping[str, int], padding: int) -> IntervalSet:
        """Return the intervals on the line of a reference, not merged.

        Parameters
        ----------
        line
            The line.
        lengths
            Length of each contig of the reference.
        padding
            Bases that intervals are grown by on each side.

        Raises
        ------
        UsageError
            The reference lacks the contig of an interval, the interval is not within its contig, or
            a contig of the header has another length.
        """
        for name, length in self.header.items():
            if lengths.get(name, length) != length:
                raise UsageError(
                    f"{self.name}: contig '{excerpt(name)}' has {length:,} bases, but"
                    f" {lengths[name]:,} in the reference; give intervals of the same assembly"
                )
        rows = self.rows
        contigs = line.numbers_of(rows.names)[rows.contigs]
        if (unknown := np.flatnonzero(contigs < 0)).size:
            row = int(unknown[0])
            name = rows.names[rows.contigs[row]]
            raise UsageError(
                f"{self.name}, {rows.text(row)}: no contig '{excerpt(name)}' in the"
                f" reference{contig_hint(name, lengths)}"
            )
        last = line.lengths[contigs]
        if (
            outside := np.flatnonzero((rows.starts if self.is_cut else rows.ends - 1) >= last)
        ).size:
            row = int(outside[0])
            name = rows.names[rows.contigs[row]]
            raise UsageError(
                f"{self.name}, {rows.text(row)}: {excerpt(name)} has only {lengths[name]:,} bases;"
                " correct the interval"
            )
        return line.set_of(contigs, rows.starts, np.minimum(rows.ends, last), padding)


GivenIntervals = IntervalTexts | GivenRows


def read_given(option: str, value: str, max_record: int) -> GivenIntervals:
    """Read the file that a value of -L names, or keep its text until the contigs are known.

    Parameters
    ----------
    option, value
        The option, for errors, and its value.
    max_record
        Bytes of the longest file of text, and of the longest record of VCF.

    Raises
    ------
    UsageError
        The value has a semicolon.
    InputError
        The file cannot be read, is damaged, malformed or too long, has no intervals (BED may have
        none), or is of unknown kind.
    """
    if ";" in value:
        raise UsageError(
            f"{option} {excerpt(value)}: ';' joins no intervals; give {option} once per interval"
        )
    if not names_file(value):
        return IntervalTexts(option, value, [value])
    match interval_extension(value):
        case "interval_list":
            return GivenRows(value, *read_interval_list(value, max_record))
        case "vcf" | "bcf":
            return GivenRows(value, read_variant_spans(value, max_record), {})
        case "list" | "intervals":
            return _read_texts(option, value, max_record)
        case extension:
            # What is not a regular file has no name of its own.
            is_named = extension == "bed" or not Path(value).is_file()
            rows = read_bed_rows(value, max_record, has_other_name=not is_named)
            return GivenRows(value, rows, {}, is_cut=True)


def _read_texts(option: str, path: str, max_record: int) -> IntervalTexts:
    lines = map(str.strip, whole_text(path, "a list of intervals", max_record).split("\n"))
    found = [(text, number) for number, text in enumerate(lines, 1) if text]
    if not found:
        raise InputError(f"{path}: no intervals; give a file with intervals")
    texts, numbers = zip(*found, strict=True)
    return IntervalTexts(option, path, texts, numbers)
