"""Reader of FASTQ as batches of unmapped reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.io.fastx.limits import (
    BASE_BYTES,
    NAME_BYTES,
    NO_AT,
    NO_PLUS,
    NO_READS,
    OTHER_NAME,
    PHRED,
    REASONS,
    TRUNCATED,
    UNEQUAL,
    WELL_FORMED,
    bad_character,
    is_same_text,
    name_fault,
    record_fault,
    record_label,
    without_mate,
)
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)

UNMAPPED: Final = 4


def read_fastq(
    source: str | Path | BufferedReader,
    batch_bases: int = 8_000_000,
    max_record: int = MAX_RECORD,
    name: str | None = None,
) -> Iterator[ReadBatch]:
    """Read FASTQ of four lines per record, plain, gzip- or BGZF-compressed, in file order.

    Names end at the first blank and lose a trailing `/1` or `/2`; bases become upper case. The
    reads are unpaired and unmapped (flag 4), without tags. An empty file has none, with a warning.

    Parameters
    ----------
    source
        A path, `-` for standard input, or a binary stream, which is left open.
    batch_bases
        Approximate number of bases of a batch, unless it is one longer read.
    max_record
        Bytes of the longest record that is read.
    name
        Name of the source for messages; by default its path.

    Raises
    ------
    InputError
        The file cannot be read or is truncated, or a record is too long or malformed: no `@`, no
        `+`, no name, a name that starts with `@` or has more than 254 characters, a third line
        that differs from the first, different lengths, a byte that is not an IUPAC base or not a
        quality. The message names the file and the record.
    """
    label = name or _label(source)
    with open_inflated(source, label) as stream:
        for first, text in _whole_records(stream, 2 * batch_bases, label, max_record):
            yield _parse(text, first, label)


def _label(source: str | Path | BufferedReader) -> str:
    if isinstance(source, BufferedReader):
        return str(getattr(source, "name", "input stream"))
    return "standard input" if str(source) == "-" else str(source)


def _whole_records(
    stream: BufferedIOBase, size: int, label: str, max_record: int
) -> Iterator[tuple[int, bytes]]:
    """Yield texts of about `size` bytes that end where a record, or the file, ends.

    Each comes with the number of its first record.
    """
    size = min(size, max_record)
    pending = stream.read(size)
    if not pending:
        logger.warning(NO_READS, label)
    elif not pending.startswith(b"@"):
        raise InputError(f"{label}: not FASTQ (it does not start with '@'); give FASTQ")
    first = 1
    while pending:
        records, end = _whole_part(pending)
        if records:
            yield first, pending[:end]
            first += records
            pending = pending[end:]
        elif len(pending) > max_record:
            raise too_long(record_label(label, first, np.frombuffer(pending, np.uint8)), max_record)
        chunk = stream.read(min(max(size, len(pending)), max_record + 1 - len(pending)))
        if not chunk:
            break
        pending += chunk
    if pending.strip():
        yield first, pending if pending.endswith(b"\n") else pending + b"\n"


def _whole_part(text: bytes) -> tuple[int, int]:
    """Return the number of whole records at the start of a text, and their bytes."""
    newlines = _newlines(np.frombuffer(text, dtype=np.uint8))
    records = newlines.size // 4
    return records, int(newlines[4 * records - 1]) + 1 if records else 0


def _newlines(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.flatnonzero(text == ord("\n"))


def _parse(text: bytes, first: int, label: str) -> ReadBatch:
    """Parse whole records; the first has number `first` in its file."""
    lines = _Lines(text, first, label)
    spans = lines.measure()
    return _unmapped(
        names=lines.column(spans[:, 0], spans[:, 1], NAME_BYTES, "name"),
        bases=lines.column(spans[:, 2], spans[:, 4], BASE_BYTES, "sequence"),
        qualities=lines.column(spans[:, 3], spans[:, 4], PHRED, "qualities"),
    )


class _Lines:
    """Text of whole records, with the error for a faulty record."""

    def __init__(self, text: bytes, first: int, label: str) -> None:
        self.text = np.frombuffer(text, dtype=np.uint8)
        self.newlines = _newlines(self.text)
        self.first = first
        self.label = label

    def measure(self) -> NDArray[np.int64]:
        """Return int64[n, 5]: start and length of name, starts of bases and qualities, length.

        The text may end in blank lines.
        """
        records = self.newlines.size // 4
        spans = np.zeros((records, 5), dtype=np.int64)
        fault, row = _measure(self.text, self.newlines, spans)
        if fault != WELL_FORMED:
            self.reject(row, REASONS[fault])
        if self.text[self._start_of(records) :].tobytes().strip():
            self.reject(records, REASONS[TRUNCATED])
        return spans

    def column(
        self,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        table: NDArray[np.uint8],
        part: str,
    ) -> Ragged:
        """Gather one part of each record and translate its bytes; 255 is an error."""
        offsets = offsets_of(lengths)
        out = np.empty(int(offsets[-1]), dtype=np.uint8)
        at = _translate(self.text, starts, offsets, table, out)
        if at >= 0:
            row = int(np.searchsorted(self.newlines, at)) // 4
            self.reject(row, bad_character(int(self.text[at]), part))
        return Ragged(out, offsets)

    def reject(self, row: int, reason: str) -> NoReturn:
        raise record_fault(self.label, self.first + row, self.text[self._start_of(row) :], reason)

    def _start_of(self, row: int) -> int:
        return int(self.newlines[4 * row - 1]) + 1 if row else 0


@njit
def _measure(
    text: NDArray[np.uint8], newlines: NDArray[np.int64], spans: NDArray[np.int64]
) -> tuple[int, int]:
    """Fill the spans of all records; return the first fault and its row."""
    starts = np.empty(4, dtype=np.int64)
    lengths = np.empty(4, dtype=np.int64)
    start = 0
    for row in range(spans.shape[0]):
        for line in range(4):
            end = newlines[4 * row + line]
            starts[line] = start
            lengths[line] = end - start
            if end > start and text[end - 1] == 13:  # carriage return
                lengths[line] -= 1
            start = end + 1
        if lengths[0] == 0 or text[starts[0]] != 64:  # @
            return NO_AT, row
        if lengths[2] == 0 or text[starts[2]] != 43:  # +
            return NO_PLUS, row
        if lengths[2] > 1 and not _repeats(text, starts, lengths):
            return OTHER_NAME, row
        if lengths[1] != lengths[3]:
            return UNEQUAL, row
        name = starts[0] + 1
        name_length = _name_length(text, name, name + lengths[0] - 1)
        fault = name_fault(text, name, name_length)
        if fault != WELL_FORMED:
            return fault, row
        spans[row, 0] = name
        spans[row, 1] = name_length
        spans[row, 2] = starts[1]
        spans[row, 3] = starts[3]
        spans[row, 4] = lengths[1]
    return WELL_FORMED, -1


@njit
def _repeats(
    text: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> bool:
    """Tell whether the third line of a record is the first line, with + for @."""
    if lengths[2] != lengths[0]:
        return False
    return bool(is_same_text(text, starts[0] + 1, starts[2] + 1, lengths[0] - 1))


@njit
def _name_length(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the length of a name: up to a blank, without a trailing /1 or /2."""
    name_end = start
    while name_end < end and text[name_end] != 32 and text[name_end] != 9:
        name_end += 1
    return without_mate(text, start, name_end)


@njit
def _translate(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    table: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Translate rows by a table; return the offset of the first unknown byte, or -1."""
    for row in range(starts.shape[0]):
        shift = starts[row] - offsets[row]
        for k in range(offsets[row], offsets[row + 1]):
            value = table[text[shift + k]]
            if value == 255:
                return int(shift + k)
            out[k] = value
    return -1


def _unmapped(names: Ragged, bases: Ragged, qualities: Ragged) -> ReadBatch:
    n = len(names)
    missing = np.full(n, -1, dtype=np.int32)
    empty = np.zeros(n + 1, dtype=np.int64)
    return ReadBatch(
        names=names,
        flags=np.full(n, UNMAPPED, dtype=np.uint16),
        reference_ids=missing,
        positions=missing,
        mapping_qualities=np.zeros(n, dtype=np.uint8),
        cigars=Ragged(np.empty(0, dtype=np.uint32), empty),
        mate_reference_ids=missing,
        mate_positions=missing,
        template_lengths=np.zeros(n, dtype=np.int32),
        bases=bases,
        qualities=qualities,
        tags=Ragged(np.empty(0, dtype=np.uint8), empty),
    )
