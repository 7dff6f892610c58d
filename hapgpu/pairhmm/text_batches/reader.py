"""Reader of files of text batches, such as `10s.in`, the test sets of pair-HMM programs.

A text batch is a line `R H`, then R lines of five strings of equal length (bases and base,
insertion, deletion and gap continuation qualities as Phred + 33), then H haplotypes, one per line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.byte_source import ByteSource, byte_source, count_newlines
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import LARGEST_LIMIT, MAX_RECORD, too_long
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.text_batches.lines import last_header, line_end
from hapgpu.pairhmm.text_batches.parser import TextPiece, parse_piece, whole_batches_end

Allocate: TypeAlias = Callable[[int], NDArray[np.uint8]]
"""Returns an array of at least the given number of bytes."""

_PIECE_BYTES: Final = 1 << 23
_MIN_PIECES: Final = 6  # of a file, unless these are small
_SMALL_PIECE: Final = 1 << 22
_NEWLINE: Final = ord("\n")


def source_name(path: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == "-" else path


def no_text_batches(path: str) -> InputError:
    """Return the error for a file without text batches."""
    return InputError(
        f"{source_name(path)}: no text batches; each must start with a line 'READS HAPLOTYPES'"
    )


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
    found = False
    for piece in text_pieces(path, _PIECE_BYTES, max_record=max_record):
        batch = parse_piece(piece)
        found = found or len(batch) > 0
        yield from _split_by_cells(batch, batch_cells)
    if not found:
        raise no_text_batches(path)


def _split_by_cells(batch: HmmBatch, max_cells: int) -> Iterator[HmmBatch]:
    """Split a batch into batches of at most `max_cells` cells, or of one group."""
    cells_before = offsets_of(batch.group_bases * batch.group_columns)
    start = 0
    while start < len(batch):
        limit = cells_before[start] + max_cells
        end = int(np.searchsorted(cells_before, limit, side="right")) - 1
        end = max(end, start + 1)
        yield batch.slice(start, end)
        start = end


def _allocate(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)


def text_pieces(
    path: str,
    piece_bytes: int,
    allocate: Allocate = _allocate,
    threads: int = 1,
    *,
    max_record: int = MAX_RECORD,
) -> Iterator[TextPiece]:
    """Read a file of text batches in pieces of whole text batches, without parsing them.

    Parameters
    ----------
    path
        `-` for standard input.
    piece_bytes
        Bytes of a piece at most, unless it is a longer text batch; fewer if the file is small.
    allocate
        Returns the memory of each piece, which is not used again after the piece was yielded.
    threads
        Threads that read a plain file on disk, at least 1.
    max_record
        Bytes of the longest text batch that is read.

    Raises
    ------
    InputError
        The file cannot be read, or a text batch is too long; or the first text batch of a piece
        is both malformed and longer than a piece.
    """
    name = source_name(path)
    with open_inflated(path, name) as stream, byte_source(stream, name, threads) as data:
        yield from _Pieces(data, name, piece_bytes, allocate, max_record)


class _Pieces:
    """Iterator over the pieces of a file, which are cut before the last header of a buffer."""

    def __init__(
        self, data: ByteSource, name: str, piece_bytes: int, allocate: Allocate, max_record: int
    ) -> None:
        self._data = data
        self._name = name
        self._piece_bytes = piece_bytes
        if data.remaining is not None:  # some pieces for each of several workers
            self._piece_bytes = min(piece_bytes, max(data.remaining // _MIN_PIECES, _SMALL_PIECE))
        self._allocate = allocate
        self._max_record = max_record
        self._pieces = 0
        self._first_line = 1
        self._newlines = 0  # of the text that was read, from the first line on

    def __iter__(self) -> Iterator[TextPiece]:
        tail = np.empty(0, dtype=np.uint8)
        is_end = False
        while not is_end:
            buffer, used = self._start(tail, self._piece_bytes)
            text, cut, is_end = self._filled(buffer, used)
            tail = text[cut:].copy()
            newlines = count_newlines(read_only(tail))
            if cut:
                yield self._piece(text, cut)
            self._first_line += self._newlines - newlines
            self._newlines = newlines

    def _filled(self, buffer: NDArray[np.uint8], used: int) -> tuple[NDArray[np.uint8], int, bool]:
        """Read until a buffer holds whole text batches.

        Return the text, the end of the whole text batches, and whether the file ends there.
        """
        while True:
            room = buffer.size - 1 - used  # minus one, for a newline that may be missing
            got, newlines = self._data.read_into(buffer[used : used + room])
            used += got
            self._newlines += newlines
            if got < room:
                if used and buffer[used - 1] != _NEWLINE:
                    buffer[used] = _NEWLINE
                    used += 1
                return buffer[:used], used, True
            text = buffer[:used]
            if (cut := last_header(read_only(text))) or (cut := self._whole_end(text)):
                return text, cut, False
            if used > self._max_record:
                where = f"{self._name}, line {self._first_line}"
                raise too_long(f"{where}: the text batch that starts here", self._max_record)
            buffer, used = self._start(text, 2 * buffer.size)

    def _whole_end(self, text: NDArray[np.uint8]) -> int:
        """Return the end of the text batches that no header follows; raise the error of a fault."""
        end = text.size - int(np.argmax(text[::-1] == _NEWLINE))
        if text[end - 1] != _NEWLINE:
            return 0
        lines = text[:end]
        piece = TextPiece(lines, lines, self._name, self._pieces, self._first_line)
        return whole_batches_end(piece)

    def _piece(self, text: NDArray[np.uint8], cut: int) -> TextPiece:
        own, more = text[:cut], text[: line_end(read_only(text), cut)]
        piece = TextPiece(own, more, self._name, self._pieces, self._first_line)
        self._pieces += 1
        return piece

    def _start(self, start: NDArray[np.uint8], size: int) -> tuple[NDArray[np.uint8], int]:
        """Allocate a buffer of about `size` bytes that starts with some; return their number."""
        remaining = self._data.remaining
        if remaining is not None:
            size = min(size, start.size + remaining + 2)
        size = min(max(size, 2 * start.size, 2), self._max_record + 2, LARGEST_LIMIT)
        buffer = self._allocate(size)[:size]
        buffer[: start.size] = start
        return buffer, start.size
