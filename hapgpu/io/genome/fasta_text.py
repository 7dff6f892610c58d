"""Parser of FASTA in pieces, with only the sequences in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import too_long
from hapgpu.runtime.jit import njit

_PIECE_BYTES: Final = 1 << 22

# Of many header lines at once. Lists of strings cost less than lists of words: the garbage
# collector does not visit strings.
_NAMES: Final = re.compile(r"^\S+", re.MULTILINE)
_DESCRIPTIONS: Final = re.compile(r"^\S+[^\S\n]*(.*)$", re.MULTILINE)

_NEWLINE, _MARK = b"\n>"
_CASE: Final = 32  # the bit in which letters of the two cases differ
_FIRST_LETTER: Final = ord("a")
_LETTERS: Final = 26


class FastaText:
    """Records of a FASTA file, as far as it has been read.

    Parameters
    ----------
    name
        Name of the file, for messages.
    max_record
        Bytes of the longest header line and, unless `max_bases` is given, of the longest sequence.
    max_bases
        Bases of the longest sequence of a reference.
    keeps_bases
        Whether bases are stored, or only counted.

    Attributes
    ----------
    name
        As above.
    descriptions
        Text after the name on each header line, by name.
    lengths
        Number of bases of each record.
    bases
        All sequences, end to end.
    """

    def __init__(
        self, name: str, max_record: int, max_bases: int | None, *, keeps_bases: bool = True
    ) -> None:
        self.name = name
        self.descriptions: dict[str, str] = {}
        self.lengths: list[int] = []
        self.bases = bytearray()
        self._max_record = max_record
        self._max_bases = max_bases
        self._keeps_bases = keeps_bases
        self._header = bytearray()
        self._in_header = False
        self._contig = ""
        self._line = 0
        self._open_line = b""  # a letter for its bases, and a blank after them

    @property
    def is_reference(self) -> bool:
        """Whether the sequences are those of a reference, with a limit of their own."""
        return self._max_bases is not None

    def pieces(self, stream: BufferedIOBase) -> Iterator[int]:
        """Parse a stream; yield, after each piece, the number of bases of the last record so far.

        Raises
        ------
        InputError
            The stream is not FASTA, or a record is malformed or too long; the message names the
            line.
        """
        for text in _with_newlines(stream):
            self._parse(text)
            yield self.lengths[-1] if self.lengths else 0
        if self._in_header:
            self._start_record()

    def _parse(self, text: bytes) -> None:
        at = 0
        has_plain_records = True
        while at < len(text):
            if self._in_header and not self._header and has_plain_records:
                at = self._take_plain_records(text, at)
                has_plain_records = False
            if self._in_header:
                at = self._take_header(text, at)
                continue
            end = text.find(b"\n>", at)
            self._take_bases(text[at : end if end >= 0 else len(text)])
            at = len(text)
            if end >= 0:
                self._line += 1
                self._open_line = b""
                self._in_header = True
                at = end + len(b"\n>")

    def _take_plain_records(self, text: bytes, at: int) -> int:
        """Parse all plain records from the start of a header line; return the end of the last.

        Whatever raises an error is left to the other methods, which name its line.
        """
        records = plain_records(text, at)
        if not self.add(b"\n".join(records.headers), records.lengths.tolist()):
            return at
        if self._keeps_bases:
            self.bases += records.bases.data
        self._line += records.lines
        return records.end

    def add(self, headers: bytes | bytearray, lengths: list[int]) -> bool:
        """Add whole records, with joined header lines; return False, and add none, for a fault.

        Of those faults, the other methods name the line.
        """
        longest = len(headers)
        if longest > self._max_record:
            longest = max(map(len, headers.split(b"\n")))
        if not self.allows(longest, max(lengths, default=0)):
            return False
        try:
            text = headers.decode("utf-8")
        except UnicodeDecodeError:
            return False
        names = _NAMES.findall(text)
        new = {
            name: rest.rstrip()
            for name, rest in zip(names, _DESCRIPTIONS.findall(text), strict=False)
        }
        if len(new) < len(lengths) or not self.descriptions.keys().isdisjoint(new):
            return False
        self.descriptions.update(new)
        self.lengths += lengths
        return True

    def allows(self, header_bytes: int, bases: int) -> bool:
        """Tell whether a record is not too long."""
        limit = self._max_record if self._max_bases is None else self._max_bases
        return header_bytes <= self._max_record and bases <= limit

    def _take_header(self, text: bytes, at: int) -> int:
        """Parse a header line, or a part of it; return its end."""
        newline = text.find(b"\n", at)
        end = newline if newline >= 0 else len(text)
        self._header += text[at:end]
        if len(self._header) > self._max_record:
            label = f"{self._label()}: header line"
            if self._max_bases is not None:  # --max-record does not apply to a reference
                raise InputError(f"{label}: longer than {self._max_record:,} bytes; shorten it")
            raise too_long(label, self._max_record)
        if newline >= 0:
            self._start_record()
        return end

    def _start_record(self) -> None:
        try:
            header = self._header.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(
                f"{self._label()}: header line is not UTF-8 text; correct it"
            ) from None
        if not header.strip() or header[0].isspace():
            raise InputError(f"{self._label()}: header line has no name after '>'; add one")
        self._contig, *description = header.split(maxsplit=1)
        if self._contig in self.descriptions:
            raise InputError(f"{self.name}: two records are named '{self._contig}'; rename one")
        self.descriptions[self._contig] = description[0].rstrip() if description else ""
        self.lengths.append(0)
        self._header.clear()
        self._in_header = False

    def _take_bases(self, text: bytes) -> None:
        """Parse lines of a sequence; the first and the last may be parts of lines."""
        joined = text.translate(None, b"\n")
        lines = len(text) - len(joined)
        if not self.lengths:
            self._check_blank(text)
        elif joined.isalpha() and len(self._open_line) <= 1:
            line_start = text.rfind(b"\n") + 1
            self._open_line = b"A" if line_start < len(text) else b""
            self._keep(joined)
        elif joined:
            self._keep(self._stripped(text))
        elif lines:
            self._open_line = b""
        self._line += lines

    def _check_blank(self, text: bytes) -> None:
        """Raise an error for other text than blanks before the first header line."""
        if text.strip():
            self._line += text.count(b"\n", 0, len(text) - len(text.lstrip()))
            raise InputError(
                f"{self._label()}: not FASTA (no header line that starts with '>'); give FASTA"
            )

    def _stripped(self, text: bytes) -> bytes:
        """Join lines, stripped of blanks; raise an error for bytes that are not letters."""
        open_line = self._open_line
        parts = []
        for number, line in enumerate((open_line + text).split(b"\n"), self._line):
            bases = line.strip()
            if bases and not bases.isalpha():
                bad = next(byte for byte in bases if not bytes([byte]).isalpha())
                raise InputError(
                    f"{self.name}, line {number}: {chr(bad)!r} in the sequence of"
                    f" '{self._contig}' is not a base; correct it"
                )
            parts.append(bases)
        blanks = line[len(line.rstrip()) :]
        self._open_line = b"A" + blanks[:1] if bases else b""
        parts[0] = parts[0][len(open_line.strip()) :]
        return b"".join(parts)

    def _keep(self, bases: bytes) -> None:
        self.lengths[-1] += len(bases)
        if self._keeps_bases:
            self.bases += bases
        if self._max_bases is None:
            if self.lengths[-1] > self._max_record:
                record = f"{self.name}, record {len(self.lengths)} {self._contig!r}"
                raise too_long(record, self._max_record)
        elif self.lengths[-1] > self._max_bases:
            raise InputError(
                f"{self.name}: '{self._contig}' has more than {self._max_bases:,} bases; split it"
            )

    def _label(self) -> str:
        return f"{self.name}, line {self._line}"


def _with_newlines(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield pieces of a text with newlines as the only line ends, and one more at the start.

    No piece ends within a line end, or between a newline and a `>` after it.
    """
    pending = b"\n"
    while piece := stream.read(_PIECE_BYTES):
        text = pending + piece
        size = len(text) - (2 if text.endswith(b"\r\n") else text.endswith((b"\r", b"\n")))
        pending = text[size:]
        yield _without_returns(text[:size])
    yield _without_returns(pending)


def _without_returns(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class PlainRecords(NamedTuple):
    """n records of a text, end to end.

    Attributes
    ----------
    headers
        The header lines, without `>`.
    lengths
        int64[n]: bases of each record.
    bases
        uint8 text: all bases, end to end.
    lines
        Number of lines.
    end
        Offset of the first byte after the `>` that follows the last record.
    """

    headers: list[bytes]
    lengths: NDArray[np.int64]
    bases: NDArray[np.uint8]
    lines: int
    end: int


def plain_records(text: bytes, at: int) -> PlainRecords:
    r"""Return the records from `at`, the offset after a `>`, to the first that is not plain.

    A record is plain if another one follows it, and if its sequence has only letters and newlines;
    `\n` is the only line end.
    """
    most = text.count(b">", at)
    data = read_only(np.frombuffer(text, dtype=np.uint8))
    spans = np.empty((3, most), dtype=np.int64)
    bases = np.empty(len(text) - at if most else 0, dtype=np.uint8)
    count, lines, end = _find(data, at, spans, bases) if most else (0, 0, at)
    starts, ends, lengths = spans[:, :count]
    headers = [text[start:stop] for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)]
    return PlainRecords(headers, lengths, bases[: lengths.sum()], int(lines), int(end))


@njit
def _find(
    data: NDArray[np.uint8], at: Integer, spans: NDArray[np.int64], out: NDArray[np.uint8]
) -> tuple[Integer, Integer, Integer]:
    """Set start and end of headers and the lengths of sequences; return count, lines and end."""
    end: Integer = at
    count, lines = 0, 0
    filled: Integer = 0
    width: Integer = 0  # of the line before: most lines of a file have the same
    while count < spans.shape[1]:
        here = end
        while here < data.size and data[here] != _NEWLINE:
            here += 1
        spans[0, count], spans[1, count] = end, here
        bases: Integer = filled
        newlines = 0
        while here < data.size and data[here] == _NEWLINE:
            newlines += 1
            here += 1
            if here == data.size or data[here] == _MARK:
                break
            width = _line_width(data, here, width)
            if not _copy_letters(data, here, out, bases, width):
                return count, lines, end
            here += width
            bases += width
        if here == data.size:
            return count, lines, end
        spans[2, count] = bases - filled
        filled = bases
        lines += newlines
        end = here + 1
        count += 1
    return count, lines, end


@njit
def _line_width(data: NDArray[np.uint8], at: Integer, guess: Integer) -> Integer:
    """Return the bytes to the next newline; the caller checks that a guess holds only letters."""
    if at + guess < data.size and data[at + guess] == _NEWLINE:
        return guess
    width = 0
    while at + width < data.size and data[at + width] != _NEWLINE:
        width += 1
    return width


@njit
def _copy_letters(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    count: Integer,
) -> bool:
    """Copy bytes; return whether all are letters."""
    start, to = np.uint64(source), np.uint64(target)
    others: Integer = 0
    for k in range(np.uint64(count)):
        byte = data[start + k]
        out[to + k] = byte
        others += np.uint8((byte | _CASE) - _FIRST_LETTER) >= _LETTERS
    return others == 0
