"""The text batches of pair-HMM test sets, such as `10s.in`, read in bulk.

A file is a row of regions: a line `R H`, then R lines of five strings of equal length (bases and
base, insertion, deletion and gap continuation qualities as Phred + 33), then H haplotypes, one a
line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column
from hapgpu.pairhmm.text_batches.lines import (
    HAPLOTYPE_FIELDS,
    HEADER_FIELDS,
    HIGHEST_QUALITY,
    MAX_ROWS,
    PHRED_OFFSET,
    READ_FIELDS,
    TextBatchLines,
    copy_fields,
)

_TEXT_BYTES: Final = 1 << 23
_HEADER_BYTES: Final = 1 << 16
_SHOWN_BYTES: Final = 40

_COLUMNS = ("bases", "base qualities", "insertion qualities", "deletion qualities", "continuations")
_MEANING = {
    READ_FIELDS: "a read is five strings (bases and base, insertion, deletion and gap continuation"
    " qualities)",
    HAPLOTYPE_FIELDS: "a haplotype is one string",
}


def read_hmm_batches(
    path: str, *, batch_cells: int = 1 << 30, max_record: int = MAX_RECORD
) -> Iterator[HmmBatch]:
    """Read text batches, plain, gzip- or BGZF-compressed, in file order and bounded memory.

    Lines may end in blanks or a carriage return, fields may be separated by several blanks or
    tabs, blank lines may lie between regions.

    Parameters
    ----------
    path
        `-` for standard input.
    batch_cells
        A batch holds whole regions of at most as many matrix cells, or one larger region; all of
        it came from about 8 MB of text, or from one longer region.
    max_record
        Bytes of the longest region that is read.

    Yields
    ------
    HmmBatch
        At least one region; bases as in the file.

    Raises
    ------
    InputError
        The file cannot be read, is cut short or holds no regions, or a line is malformed:
        counts that are none, a region that is too long, too few or too many fields, fields of
        different length, a character that is not printable. The message names the file and the
        line.
    """
    name = "standard input" if path == "-" else path
    parser = _Parser(name)
    found = False
    with open_inflated(path, name) as stream:
        for batch in _whole_regions(stream, parser, max_record):
            found = True
            yield from _bounded(batch, batch_cells)
    if not found:
        raise InputError(f"{name} holds no regions: a line 'READS HAPLOTYPES' expected")


def _bounded(batch: HmmBatch, cells: int) -> Iterator[HmmBatch]:
    """Cut a batch into batches of at most so many cells, or of one region."""
    bases = np.diff(batch.reads.bases.offsets[batch.read_offsets])
    columns = np.diff(batch.haplotypes.offsets[batch.haplotype_offsets])
    cells_before = offsets_of(bases * columns)
    start = 0
    while start < len(batch):
        limit = cells_before[start] + cells
        fitting = int(np.searchsorted(cells_before, limit, side="right")) - 1
        stop = max(fitting, start + 1)
        yield batch.slice(start, stop)
        start = stop


def _whole_regions(stream: BufferedIOBase, parser: _Parser, max_record: int) -> Iterator[HmmBatch]:
    """Parse a stream text by text; what a text has of its last region goes to the next one."""
    rest = b""
    missing = 0
    least = min(_TEXT_BYTES, max_record)
    while chunk := stream.read(min(max(least, len(rest)), max_record + 1 - len(rest))):
        rest += chunk
        missing -= chunk.count(b"\n")
        if missing <= 0:
            batch, end = parser.parse(rest)
            rest = rest[end:]
            missing = _missing_lines(rest)
            if len(batch):
                yield batch
        if len(rest) > max_record:
            raise too_long(f"{parser.place}: the region that begins here", max_record)
    if rest:
        batch, end = parser.parse(rest if rest.endswith(b"\n") else rest + b"\n")
        rest = rest[end:]
        if len(batch):
            yield batch
    if rest:
        parser.reject_cut(rest)


def _missing_lines(region: bytes) -> int:
    """Return how many lines lack to the first one of a region, or to all if that one is there."""
    header, newline, _ = region[:_HEADER_BYTES].partition(b"\n")
    if not newline:
        return 1 - region.count(b"\n")
    return 1 + sum(map(int, header.split())) - region.count(b"\n")


class _Parser:
    """Parses a file piece by piece, and knows which line it is at."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = np.empty(0, dtype=np.uint8)
        self._first_line = 1

    @property
    def place(self) -> str:
        """The line behind the regions that have been parsed."""
        return f"{self._name}: line {self._first_line}"

    def parse(self, text: bytes) -> tuple[HmmBatch, int]:
        """Return the whole regions that a text begins with, and the bytes that they take."""
        self._text = np.frombuffer(text, dtype=np.uint8, count=text.rfind(b"\n") + 1)
        lines = TextBatchLines.measure(self._text)
        batch = self._batch(lines)
        if lines.fault >= 0:
            self._reject_line(lines.fault, lines.fields)
        self._first_line = self._line_at(lines.end)
        return batch, lines.end

    def reject_cut(self, region: bytes) -> NoReturn:
        """Raise the error for a file that ends in the middle of this region."""
        header = region.partition(b"\n")[0]
        raise InputError(
            f"{self.place}: the file ends within the region that begins"
            f" here with {_shown(header)}: copy it again, or correct the counts"
        )

    def _batch(self, lines: TextBatchLines) -> HmmBatch:
        *starts, lengths = lines.reads
        offsets = offsets_of(lengths)
        bases, base_calls, insertions, deletions, continuations = (
            self._copied(start, offsets, column)
            for start, column in zip(starts, _COLUMNS, strict=True)
        )
        reads = HmmReads(
            Ragged(bases, offsets),
            base_calls,
            insertions,
            deletions,
            uniform_column(continuations),
        )
        start, lengths = lines.haplotypes
        offsets = offsets_of(lengths)
        haplotypes = Ragged(self._copied(start, offsets, "bases"), offsets)
        return HmmBatch(reads, haplotypes, *(offsets_of(counts) for counts in lines.counts))

    def _copied(
        self, starts: NDArray[np.int64], offsets: NDArray[np.int64], column: str
    ) -> NDArray[np.uint8]:
        """Copy bases as they are, qualities as Phred."""
        out = np.empty(int(offsets[-1]), dtype=np.uint8)
        base = np.uint8(PHRED_OFFSET if column == "bases" else 0)
        row = copy_fields(self._text, starts, offsets, base, out)
        if row >= 0:
            begin = int(starts[row])
            field = self._text[begin : begin + int(offsets[row + 1] - offsets[row])]
            invalid = field[field - np.uint8(PHRED_OFFSET) > HIGHEST_QUALITY][0]
            raise InputError(
                f"{self._name}: line {self._line_at(begin)}: invalid character"
                f" {chr(invalid)!a} in its {column}: printable ones, '!' to '~', expected"
            )
        return out

    def _line_at(self, offset: int) -> int:
        return self._first_line + int(np.count_nonzero(self._text[:offset] == ord("\n")))

    def _reject_line(self, start: int, fields: int) -> NoReturn:
        line = self._text[start:].tobytes().partition(b"\n")[0]
        number = self._line_at(start)
        raise InputError(f"{self._name}: line {number}: {_reason(line, fields)}")


def _reason(line: bytes, fields: int) -> str:
    """Say what is wrong with a line that should have so many fields."""
    if fields == HEADER_FIELDS:
        return (
            f"a region begins with its numbers of reads and haplotypes, up to {MAX_ROWS:,}, not"
            f" with {_shown(line)}: no pair-HMM batches, or the counts before this line are wrong"
        )
    lengths = [str(len(field)) for field in re.findall(rb"[^ \t\r]+", line)]
    if len(lengths) != fields:
        return (
            f"{_MEANING[fields]}, this line has {len(lengths)}: complete it, or correct the counts"
            " that its region begins with"
        )
    return (
        f"the bases and qualities of a read must be of one length, these are {', '.join(lengths)}"
    )


def _shown(line: bytes) -> str:
    text = ascii(line[:_SHOWN_BYTES].decode("latin-1").strip())
    return text if len(line) <= _SHOWN_BYTES else f"{text}..."
