"""Intervals of files in columns: an exome has hundreds of thousands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import too_long
from hapgpu.io.text.values import LAST_POSITION, excerpt

_BLOCK_CHARACTERS: Final = 1 << 20
"""Text that is parsed at once: its fields take many times its memory."""


class Row(NamedTuple):
    """An interval of a line: contig, 0-based start, end."""

    contig: str
    start: int
    end: int


class Fields(NamedTuple):
    """Intervals of a block of lines.

    Attributes
    ----------
    contigs
        The contig of each.
    starts, ends
        int64[n]: 0-based, half-open; not checked.
    """

    contigs: Sequence[str]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Fields:
        """Return the intervals of rows."""
        return cls(
            [row.contig for row in rows],
            numbers_of(row.start for row in rows),
            numbers_of(row.end for row in rows),
        )


@dataclass(frozen=True, slots=True)
class LineFormat:
    """A format with one interval per line.

    Attributes
    ----------
    usual
        Matches a line with an interval, as nearly all are.
    fields
        Returns the intervals of such lines from the groups of their matches.
    parse
        Returns the interval of any line, given the line and its name for errors; None for a line
        without an interval. It raises an InputError for a malformed line.
    """

    usual: re.Pattern[str]
    fields: Callable[[list[tuple[str, ...]]], Fields]
    parse: Callable[[str, str], Row | None]


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """Intervals in columns, in the order of a file.

    Attributes
    ----------
    names
        Names of contigs.
    contigs
        int64[n]: rows of `names`.
    starts, ends
        int64[n]: 0-based, half-open; 0 <= start < end <= 2**31 - 1.
    """

    names: Sequence[str]
    contigs: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Iterable[Fields]) -> IntervalRows:
        """Return the intervals of all blocks."""
        numbers: dict[str, int] = {}
        contigs, starts, ends = [], [], []
        for block in blocks:
            for name in dict.fromkeys(block.contigs):
                numbers.setdefault(name, len(numbers))
            contigs.append(numbers_of(map(numbers.__getitem__, block.contigs)))
            starts.append(block.starts)
            ends.append(block.ends)
        none = np.empty(0, dtype=np.int64)
        columns = (np.concatenate([none, *parts]) for parts in (contigs, starts, ends))
        return cls(tuple(numbers), *columns)

    def text(self, row: int) -> str:
        """Return an interval as `contig:start-end`, for errors."""
        contig = excerpt(self.names[self.contigs[row]])
        return f"{contig}:{self.starts[row] + 1}-{self.ends[row]}"

    def __len__(self) -> int:
        return self.starts.size


def numbers_of(values: Iterable[int]) -> NDArray[np.int64]:
    """Return whole numbers as int64[n]."""
    return np.array(list(values), dtype=np.int64)


def column(found: Sequence[tuple[str, ...]], number: int) -> list[str]:
    """Return one group of all matches; of a million, `zip` would take eight times as long."""
    return [groups[number] for groups in found]


def whole_text(path: str, kind: str, max_record: int) -> str:
    """Return the text of a file, plain or compressed, with LF at the ends of lines.

    Parameters
    ----------
    path
        The file.
    kind
        What it is expected to be, for errors.
    max_record
        Bytes of the longest file that is read: it is kept in memory as a whole.

    Raises
    ------
    InputError
        The file cannot be read, is too long, or is not text.
    """
    with open_inflated(path, path) as stream:
        data = stream.read(max_record + 1)
    if len(data) > max_record:
        raise too_long(path, max_record)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not {kind} ({error}); give {kind}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def rows_of_text(text: str, path: str, kind: LineFormat, first_line: int = 1) -> IntervalRows:
    """Parse the lines of a text.

    Parameters
    ----------
    text
        Whole lines; the last may lack its LF.
    path, first_line
        Name of the file, and number of the first line, for errors.
    kind
        The format.

    Raises
    ------
    InputError
        A line is malformed.
    """
    return IntervalRows.of(
        fields_of(block, path, kind, number) for block, number in _blocks(text, first_line)
    )


def _blocks(text: str, number: int) -> Iterator[tuple[str, int]]:
    """Yield blocks of whole lines, and the number of the first line of each."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK_CHARACTERS) + 1 or len(text)
        block = text[start:end]
        yield block, number
        number += block.count("\n")
        start = end


def fields_of(block: str, path: str, kind: LineFormat, first_line: int) -> Fields:
    """Parse the lines of a block; parameters as of `rows_of_text`.

    Raises
    ------
    InputError
        A line is malformed.
    """
    found = kind.usual.findall(block)
    if len(found) == block.count("\n") + (not block.endswith("\n")):
        fields = kind.fields(found)
        if (
            (fields.starts >= 0) & (fields.starts < fields.ends) & (fields.ends <= LAST_POSITION)
        ).all():
            return fields
    lines = enumerate(block.removesuffix("\n").split("\n"), first_line)
    parsed = (kind.parse(line, f"{path}, line {number}") for number, line in lines)
    return Fields.of([row for row in parsed if row is not None])
