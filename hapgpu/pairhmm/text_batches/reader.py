"""Reader of files of text batches, such as `10s.in`, the test sets of pair-HMM programs.

A text batch is a line `R H`, then R lines of five strings of equal length (bases and base,
insertion, deletion and gap continuation qualities as Phred + 33), then H haplotypes, one per line.
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
    MAX_QUALITY,
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
    tabs, and blank lines may separate text batches.

    Parameters
    ----------
    path
        `-` for standard input.
    batch_cells
        A batch holds whole text batches of at most this many matrix cells in all, from about 8 MB
        of text; or one text batch that is larger or longer.
    max_record
        Bytes of the longest text batch that is read.

    Yields
    ------
    HmmBatch
        At least one group, a text batch each; bases as in the file.

    Raises
    ------
    InputError
        The file cannot be read, is truncated or holds no text batches, or a line is malformed:
        invalid counts, a text batch that is too long, too few or too many fields, fields of
        different length, a character that is not printable. The message names the file and the
        line.
    """
    name = "standard input" if path == "-" else path
    parser = _Parser(name)
    found = False
    with open_inflated(path, name) as stream:
        for batch in _parsed(stream, parser, max_record):
            found = True
            yield from _split_by_cells(batch, batch_cells)
    if not found:
        raise InputError(f"{name}: no text batches; each must start with a line 'READS HAPLOTYPES'")


def _split_by_cells(batch: HmmBatch, max_cells: int) -> Iterator[HmmBatch]:
    """Split a batch into batches of at most `max_cells` cells, or of one group."""
    bases = np.diff(batch.reads.bases.offsets[batch.read_offsets])
    columns = np.diff(batch.haplotypes.offsets[batch.haplotype_offsets])
    cells_before = offsets_of(bases * columns)
    start = 0
    while start < len(batch):
        limit = cells_before[start] + max_cells
        end = int(np.searchsorted(cells_before, limit, side="right")) - 1
        end = max(end, start + 1)
        yield batch.slice(start, end)
        start = end


def _parsed(stream: BufferedIOBase, parser: _Parser, max_record: int) -> Iterator[HmmBatch]:
    """Parse a stream block by block; an incomplete text batch is parsed with the next block."""
    rest = b""
    missing = 0
    min_bytes = min(_TEXT_BYTES, max_record)
    while block := stream.read(min(max(min_bytes, len(rest)), max_record + 1 - len(rest))):
        rest += block
        missing -= block.count(b"\n")
        if missing <= 0:
            batch, end = parser.parse(rest)
            rest = rest[end:]
            missing = _missing_lines(rest)
            if len(batch):
                yield batch
        if len(rest) > max_record:
            raise too_long(f"{parser.next_line}: the text batch that starts here", max_record)
    if rest:
        batch, end = parser.parse(rest if rest.endswith(b"\n") else rest + b"\n")
        rest = rest[end:]
        if len(batch):
            yield batch
    if rest:
        parser.reject_incomplete(rest)


def _missing_lines(text: bytes) -> int:
    """Return the number of lines that a text batch lacks; without its first line, that line."""
    header, newline, _ = text[:_HEADER_BYTES].partition(b"\n")
    if not newline:
        return 1 - text.count(b"\n")
    return 1 + sum(map(int, header.split())) - text.count(b"\n")


class _Parser:
    """Parser of a file, block by block, that counts its lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = np.empty(0, dtype=np.uint8)
        self._first_line = 1

    @property
    def next_line(self) -> str:
        """File and number of the line after the text batches that have been parsed."""
        return f"{self._name}, line {self._first_line}"

    def parse(self, text: bytes) -> tuple[HmmBatch, int]:
        """Return the whole text batches at the start of a text, and the offset after them."""
        self._text = np.frombuffer(text, dtype=np.uint8, count=text.rfind(b"\n") + 1)
        lines = TextBatchLines.measure(self._text)
        batch = self._batch(lines)
        if lines.fault >= 0:
            self._reject_line(lines.fault, lines.fields)
        self._first_line = self._line_at(lines.end)
        return batch, lines.end

    def reject_incomplete(self, text: bytes) -> NoReturn:
        """Raise the error for a file that ends in the middle of a text batch."""
        header = text.partition(b"\n")[0]
        raise InputError(
            f"{self.next_line}: the file ends within the text batch that starts here with"
            f" {_shown(header)}; copy the file again, or correct the counts"
        )

    def _batch(self, lines: TextBatchLines) -> HmmBatch:
        *starts, lengths = lines.reads
        offsets = offsets_of(lengths)
        bases, base_qualities, insertions, deletions, continuations = (
            self._copied(start, offsets, column)
            for start, column in zip(starts, _COLUMNS, strict=True)
        )
        reads = HmmReads(
            Ragged(bases, offsets),
            base_qualities,
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
            start = int(starts[row])
            field = self._text[start : start + int(offsets[row + 1] - offsets[row])]
            invalid = field[field - np.uint8(PHRED_OFFSET) > MAX_QUALITY][0]
            raise InputError(
                f"{self._name}, line {self._line_at(start)}: invalid character"
                f" {chr(invalid)!a} in the {column}; use printable ones, '!' to '~'"
            )
        return out

    def _line_at(self, offset: int) -> int:
        return self._first_line + int(np.count_nonzero(self._text[:offset] == ord("\n")))

    def _reject_line(self, start: int, fields: int) -> NoReturn:
        line = self._text[start:].tobytes().partition(b"\n")[0]
        number = self._line_at(start)
        raise InputError(f"{self._name}, line {number}: {_reason(line, fields)}")


def _reason(line: bytes, fields: int) -> str:
    """Return the error in a line that should have a number of fields."""
    if fields == HEADER_FIELDS:
        return (
            f"expected the numbers of reads and haplotypes of a text batch, at most {MAX_ROWS:,},"
            f" found {_shown(line)}; give a file of text batches, or correct the previous counts"
        )
    lengths = [str(len(field)) for field in re.findall(rb"[^ \t\r]+", line)]
    if len(lengths) != fields:
        return (
            f"{_MEANING[fields]}, this line has {len(lengths)}; complete it, or correct the counts"
            " of its text batch"
        )
    return (
        "the bases and qualities of a read must have equal lengths, these have"
        f" {', '.join(lengths)}; correct the line"
    )


def _shown(line: bytes) -> str:
    text = ascii(line[:_SHOWN_BYTES].decode("latin-1").strip())
    return text if len(line) <= _SHOWN_BYTES else f"{text}..."
