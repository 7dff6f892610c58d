"""Counts of the mappings of a file, for its charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.report.lines import LineBlocks
from hapgpu.report.mappings.drawn import DrawnReads
from hapgpu.report.mappings.parse import (
    IDENTITY_UNIT,
    UNMAPPED,
    Column,
    covered_lengths,
    parse_lines,
)
from hapgpu.report.mappings.targets import Contigs
from hapgpu.report.options import SectionOptions
from hapgpu.report.tally import LengthTally, Tally

_NEWLINE: Final = ord("\n")
_COVERAGE_UNIT: Final = 100


@dataclass
class MappingCounts:
    """Counts of mappings, which grow block by block.

    Attributes
    ----------
    numbers
        Numbers of lines, reads and bases, by name.
    identities
        Of primary mappings, in parts of 10,000.
    coverages
        Of mapped reads: percent of their bases in primary mappings.
    per_read
        Primary mappings of each read in the file.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    lengths: LengthTally = field(default_factory=LengthTally)
    identities: Tally = field(default_factory=lambda: Tally(0, IDENTITY_UNIT, 1 / IDENTITY_UNIT))
    coverages: Tally = field(default_factory=lambda: Tally(0, _COVERAGE_UNIT, 1 / _COVERAGE_UNIT))
    qualities: Tally = field(default_factory=lambda: Tally(0, 255))
    per_read: Tally = field(default_factory=lambda: Tally(0, 100))
    contigs: Contigs = field(default_factory=Contigs)
    drawn: DrawnReads = field(default_factory=DrawnReads)

    def _count(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + int(number)

    def add(self, text: NDArray[np.uint8], columns: NDArray[np.int64]) -> None:
        """Count all lines of some reads.

        Parameters
        ----------
        text
            The lines.
        columns
            int64[n, columns]: their columns.
        """
        if not len(columns):
            return
        first = first_lines(columns)
        reads = np.cumsum(first) - 1 + self.numbers.get("reads", 0)
        self.lengths.add(columns[first, Column.LENGTH])
        is_mapped = columns[:, Column.REVERSE] != UNMAPPED
        is_primary = is_mapped & (columns[:, Column.SECONDARY] == 0)
        primary = columns[is_primary]
        per_read = np.bincount(reads[is_primary] - reads[0], minlength=int(first.sum()))
        self._count(
            lines=len(columns),
            reads=first.sum(),
            bases=columns[first, Column.LENGTH].sum(),
            mapped=(per_read > 0).sum(),
            primary=len(primary),
            secondary=(is_mapped & ~is_primary).sum(),
            reverse=primary[:, Column.REVERSE].sum(),
        )
        self.per_read.add(per_read)
        self.identities.add(primary[:, Column.IDENTITY])
        self.qualities.add(primary[:, Column.QUALITY])
        self._cover_reads(primary, per_read)
        names = slice(Column.TARGET, Column.TARGET_DIGEST + 1)
        mapped = columns[is_mapped]
        numbers = self.contigs.numbers_of(text, mapped[:, names], mapped[:, Column.TARGET_LENGTH])
        known = numbers[is_primary[is_mapped]]
        self.contigs.cover(known, primary[:, Column.TARGET_START], primary[:, Column.TARGET_STOP])
        self.drawn.add(text, mapped, reads[is_mapped], numbers)

    def _cover_reads(self, primary: NDArray[np.int64], per_read: NDArray[np.int64]) -> None:
        counts = per_read[per_read > 0]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        covered = np.empty(counts.size, dtype=np.int64)
        starts = np.ascontiguousarray(primary[:, Column.START])
        covered_lengths(starts, np.ascontiguousarray(primary[:, Column.END]), offsets, covered)
        lengths = np.maximum(primary[offsets[:-1], Column.LENGTH], 1)
        self.coverages.add(covered * _COVERAGE_UNIT // lengths)
        self._count(covered=covered.sum())


def first_lines(columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which lines start another read: lines of a read follow each other."""
    digests = columns[:, Column.QUERY_DIGEST]
    return np.concatenate([[True], digests[1:] != digests[:-1]])


def count_mappings(path: Path, options: SectionOptions) -> MappingCounts:
    """Count the mappings of a PAF file.

    Raises
    ------
    InputError
        The file cannot be read, or a line is malformed.
    """
    counts = MappingCounts()
    with open_inflated(path, str(path)) as stream:
        blocks = LineBlocks(stream, str(path), options.max_record)
        for text in blocks:
            lines = int(np.count_nonzero(text == _NEWLINE)) + 1
            columns = np.empty((lines, len(Column)), dtype=np.int64)
            parsed, end = map(int, parse_lines(text, columns))
            if end < text.size:
                line = blocks.first_line + parsed
                raise InputError(f"{path}, line {line}: malformed PAF; write the file again")
            columns = columns[:parsed]
            if not blocks.is_last and parsed:
                last = int(np.flatnonzero(first_lines(columns))[-1])
                # The next block may have more mappings of the last read.
                blocks.keep(text[columns[last, Column.QUERY] :])
                columns = columns[:last]
            counts.add(text, columns)
            options.advance(len(columns))
    return counts
