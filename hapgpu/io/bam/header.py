"""Header of a SAM, BAM or CRAM file."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.file_kind import BAM_MAGIC
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.text.values import (
    LAST_POSITION,
    are_contig_names,
    excerpt,
    is_contig_name,
    parse_position,
    rows_of,
)

SAM_VERSION = "1.6"
_COUNT = struct.Struct("<i")
_NUMBER_BYTES: Final = _COUNT.size

_SQUARE_LINE = re.compile("^@SQ\t.*$", re.MULTILINE)
_HEADING = re.compile("^@HD\t.*$", re.MULTILINE)

# An @SQ line as programs write it: SN, LN, and fields of other names. All lines are matched in one
# call; a header with any other @SQ line is parsed line by line.
_PLAIN_SQUARE_LINE = re.compile(
    r"^@SQ\tSN:([^\t\r\n]+)\tLN:([1-9][0-9]{0,8})(?:\t(?!SN:|LN:)[^\t\r\n]*)*$", re.MULTILINE
)

_FIRST_CAPACITY: Final = 1 << 22
_MAX_HEADERS_KEPT: Final = 4
_MAX_NAME_BYTES: Final = 1 << 16
_BYTES_BESIDE_NAME: Final = 8
_BYTES_BESIDE_LINE: Final = 64
"""Bytes that a header line takes in memory beside its text."""
_MAX_COUNT: Final = 2**31 - 1
_PART: Final = 1 << 20
"""Bytes of a header that are copied at a time."""

_headers: dict[bytes, SamHeader] = {}
"""The headers read last, by the digest of their texts."""


@dataclass(frozen=True)
class SamHeader:
    """Text of a header, and its contigs.

    Attributes
    ----------
    text
        The header lines, each closed by a newline.
    reference_names, reference_lengths
        One per @SQ line, in order; lengths in bases.
    """

    text: str
    reference_names: tuple[str, ...]
    reference_lengths: tuple[int, ...]

    @classmethod
    def from_text(cls, text: str) -> SamHeader:
        """Read the contigs from the @SQ lines of a header.

        Raises
        ------
        InputError
            An @SQ line lacks a name or a length from 1 to 2**31 - 1, or a name occurs twice.
        """
        if text and not text.endswith("\n"):
            text += "\n"
        plain = _PLAIN_SQUARE_LINE.findall(text)
        if len(plain) == text.count("\n@SQ\t") + text.startswith("@SQ\t"):
            names, lengths = tuple(map(itemgetter(0), plain)), map(itemgetter(1), plain)
            header = cls(text, names, tuple(map(int, lengths)))
            if len(header.reference_ids) == len(names):
                return header
        references: dict[str, int] = {}
        for line in _SQUARE_LINE.finditer(text):
            fields = fields_of(line[0])
            length = _reference_length(fields)
            if fields["SN"] in references:
                raise InputError(
                    f"header: two @SQ lines for {fields['SN']}; run: samtools reheader"
                )
            references[fields["SN"]] = length
        return cls(text, tuple(references), tuple(references.values()))

    @classmethod
    def from_references(
        cls, names: Sequence[str], lengths: Sequence[int], order: str = "SO:unsorted"
    ) -> SamHeader:
        """Make a header of an @HD line, with the fields of `order`, and one @SQ line per contig.

        Raises
        ------
        InputError
            SAM does not allow a name or length.
        """
        return cls(f"@HD\tVN:{SAM_VERSION}\t{order}\n", (), ()).with_references(names, lengths)

    @cached_property
    def is_coordinate_sorted(self) -> bool:
        """Whether the @HD line has SO:coordinate."""
        headings = map(fields_of, self.lines_of("@HD"))
        return any(fields.get("SO") == "coordinate" for fields in headings)

    @cached_property
    def reference_ids(self) -> Mapping[str, int]:
        """The index of each contig among the @SQ lines, by its name."""
        return rows_of(self.reference_names)

    def reference_id(self, name: str) -> int | None:
        """Return the index of a contig among the @SQ lines, or None if it has no line."""
        return self.reference_ids.get(name)

    def lines_of(self, kind: str) -> list[str]:
        """Return the lines that start with a record type, such as `@RG`."""
        start = f"\n{kind}\t"
        rests = f"\n{self.text}".split(start)[1:]
        return [f"{kind}\t{rest}".split("\n", 1)[0] for rest in rests]

    def with_line(self, line: str) -> SamHeader:
        """Append a line, such as an @RG line."""
        return self._with_text(f"{self.text}{line}\n")

    def with_program(self, name: str, version: str, command_line: str) -> SamHeader:
        """Add one @PG line, its ID made unique, chained to the end of the last program chain."""
        programs = [fields_of(line) for line in self.lines_of("@PG")]
        taken = {fields["ID"] for fields in programs if "ID" in fields}
        identifier = name
        count = 0
        while identifier in taken:
            count += 1
            identifier = f"{name}.{count}"
        line = f"@PG\tID:{identifier}\tPN:{name}"
        if previous := _chain_end(programs):
            line += f"\tPP:{previous}"
        line += f"\tVN:{version}\tCL:{' '.join(command_line.split())}"
        return self.with_line(line)

    def with_references(self, names: Sequence[str], lengths: Sequence[int]) -> SamHeader:
        """Replace all @SQ lines; keep the other lines, and add an @HD line if there is none.

        Raises
        ------
        InputError
            SAM does not allow a name.
        """
        kept = [line for line in self._lines if not line.startswith("@SQ\t")]
        heading = [line for line in kept if line.startswith("@HD\t")]
        others = [line for line in kept if not line.startswith("@HD\t")]
        heading = heading or [f"@HD\tVN:{SAM_VERSION}"]
        text = _joined([*heading, *_square_lines(names, lengths), *others])
        if len(set(names)) == len(names) and _are_lengths(lengths):
            return SamHeader(text, tuple(names), tuple(lengths))
        return SamHeader.from_text(text)

    def with_sort_order(self, order: str) -> SamHeader:
        """Set SO on the @HD line and drop SS and GO, which described the old order."""

        def sorted_heading(line: str) -> str:
            fields = [f for f in line.split("\t") if not f.startswith(("SO:", "SS:", "GO:"))]
            return "\t".join([*fields, f"SO:{order}"])

        text = self.text if _HEADING.search(self.text) else f"@HD\tVN:{SAM_VERSION}\n{self.text}"
        return self._with_text(_HEADING.sub(lambda line: sorted_heading(line[0]), text))

    def _with_text(self, text: str) -> SamHeader:
        """Replace the text; its @SQ lines are parsed only if there are more or fewer."""
        if text.count("@SQ\t") != self.text.count("@SQ\t"):
            return SamHeader.from_text(text)
        return SamHeader(text, self.reference_names, self.reference_lengths)

    @property
    def _lines(self) -> list[str]:
        return self.text.split("\n")[:-1]


def fields_of(line: str) -> dict[str, str]:
    """Return the TAG:VALUE fields of a header line."""
    return {
        field[:2]: field[3:] for field in line.rstrip("\r").split("\t")[1:] if field[2:3] == ":"
    }


def _reference_length(fields: dict[str, str]) -> int:
    name, length = fields.get("SN"), fields.get("LN", "")
    if not name:
        raise InputError("header: an @SQ line has no name (SN); run: samtools reheader")
    bases = parse_position(length)
    if not bases:
        raise InputError(
            f"header: @SQ line of {name}: LN is '{excerpt(length)}', expected 1 to {LAST_POSITION};"
            " run: samtools reheader"
        )
    return bases


def _square_lines(names: Sequence[str], lengths: Sequence[int]) -> list[str]:
    if not are_contig_names(names):
        name = next(name for name in names if not is_contig_name(name))
        raise InputError(f"contig '{name}': a name that SAM does not allow; rename it")
    return [f"@SQ\tSN:{name}\tLN:{size}" for name, size in zip(names, lengths, strict=True)]


def _are_lengths(lengths: Sequence[int]) -> bool:
    return not lengths or 1 <= min(lengths) <= max(lengths) <= LAST_POSITION


def _joined(lines: Iterable[str]) -> str:
    return "\n".join([*lines, ""])


def _chain_end(programs: list[dict[str, str]]) -> str | None:
    """Return the ID of the last program that no other program names as its predecessor."""
    previous = {fields.get("PP") for fields in programs}
    identifiers = [fields["ID"] for fields in programs if "ID" in fields]
    ends = [identifier for identifier in identifiers if identifier not in previous]
    candidates = ends or identifiers
    return candidates[-1] if candidates else None


def encode_header(header: SamHeader) -> bytes:
    """Return the header in BAM encoding."""
    text = header.text.encode("utf-8", "surrogateescape")
    return b"".join([BAM_MAGIC, _COUNT.pack(len(text)), text, encode_references(header)])


def encode_references(header: SamHeader) -> bytes:
    """Return the list of contigs in BAM encoding, with its length."""
    count = len(header.reference_names)
    if not count:
        return _COUNT.pack(count)
    names = Ragged.from_names(header.reference_names)
    widths = names.lengths + 1  # with a NUL
    starts = names.offsets[:-1] + (1 + 2 * _NUMBER_BYTES) * np.arange(count)
    encoded = np.zeros(names.data.size + (1 + 2 * _NUMBER_BYTES) * count, dtype=np.uint8)
    is_name = np.ones(encoded.size, dtype=np.bool_)
    is_name[starts + _NUMBER_BYTES + widths - 1] = False
    lengths = np.array(header.reference_lengths, dtype=np.int64)
    for offsets, numbers in ((starts, widths), (starts + _NUMBER_BYTES + widths, lengths)):
        _numbers_at(encoded)[offsets] = numbers
        _numbers_at(is_name)[offsets] = 0
    encoded[is_name] = names.data
    return _COUNT.pack(count) + encoded.tobytes()


def _numbers_at(data: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return a view of the numbers that start at each byte, of at least one."""
    size = data.size - _NUMBER_BYTES + 1
    return np.ndarray(size, dtype="<u4", buffer=data, strides=(1,))


class RecordBuffer:
    """Growing window on a stream of bytes.

    Parameters
    ----------
    pieces
        The stream.
    name
        The file's name for messages.
    max_record
        Bytes of the longest record, and of the longest header, that the stream may have.
    """

    def __init__(self, pieces: Iterable[bytes], name: str, max_record: int = MAX_RECORD) -> None:
        self.name = name
        self.max_record = max_record
        self._pieces: Iterator[bytes] = iter(pieces)
        self._data = np.empty(_FIRST_CAPACITY, dtype=np.uint8)
        self._start = 0
        self._end = 0

    @property
    def window(self) -> NDArray[np.uint8]:
        """uint8, read-only: the bytes read and not taken; valid until the next `extend`."""
        return read_only(self._data[self._start : self._end])

    def extend(self) -> bool:
        """Append the next piece to the window; return False at the end of the stream."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        if self._end + len(piece) > self._data.size:
            self._make_room(len(piece))
        self._data[self._end : self._end + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        self._end += len(piece)
        return True

    def take(self, count: int) -> memoryview:
        """Remove exactly `count` bytes from the start of the window; return a view of them.

        The view is valid until the next call. It is no copy: a header may take 100 MB.

        Raises
        ------
        InputError
            The file ends before.
        """
        while self._end - self._start < count:
            if not self.extend():
                raise InputError(
                    f"{self.name}: truncated (it ends within its header); copy it again"
                )
        taken = self.window[:count].data
        self._start += count
        return taken

    def starts_with(self, content: bytes) -> bool:
        """Tell whether the window starts with these bytes; extend it until it is known."""
        while self._end - self._start < len(content):
            if not self.extend():
                return False
        return self.window[: len(content)].tobytes() == content

    def _make_room(self, count: int) -> None:
        kept = self.window
        capacity = self._data.size
        while kept.size + count > capacity // 2:
            capacity *= 2
        grown = capacity > self._data.size
        self._move_to(np.empty(capacity, dtype=np.uint8) if grown else self._data)

    def _move_to(self, data: NDArray[np.uint8]) -> None:
        kept = self.window
        data[: kept.size] = kept
        self._data, self._start, self._end = data, 0, kept.size


def take_header(buffer: RecordBuffer) -> SamHeader:
    """Read the header from the start of an inflated BAM file.

    Raises
    ------
    InputError
        It is not a BAM file, or its header is truncated, too long or contradicts itself.
    """
    if bytes(buffer.take(len(BAM_MAGIC))) != BAM_MAGIC:
        raise InputError(f"{buffer.name}: not a BAM file; give BAM, CRAM or SAM")
    size = _count(buffer, "text length", _MAX_COUNT)
    _check_size(buffer, size)
    text = buffer.take(size)
    size += _BYTES_BESIDE_LINE * _count_lines(text)
    _check_size(buffer, size)
    header = _header(text, buffer.name)  # its message on a bad length says more
    if header.reference_names:
        # The list of contigs is as the text says, or the header is damaged.
        encoded = encode_references(header)
        if size + len(encoded) <= buffer.max_record and buffer.starts_with(encoded):
            buffer.take(len(encoded))
            return header
    references: dict[str, int] = {}
    for _ in range(_count(buffer, "number of references", _MAX_COUNT)):
        name_bytes = _count(buffer, "reference name length", _MAX_NAME_BYTES, minimum=1)
        size += name_bytes + _BYTES_BESIDE_NAME
        _check_size(buffer, size)
        name = _text(buffer.take(name_bytes))
        if name in references:
            raise InputError(
                f"{buffer.name}: damaged (its header lists {name!r} twice); run: samtools reheader"
            )
        references[name] = _count(buffer, "reference length", _MAX_COUNT)
    try:
        return _with_contigs(header, tuple(references), tuple(references.values()))
    except InputError as error:
        raise InputError(f"{buffer.name}, {error}") from None


def _check_size(buffer: RecordBuffer, size: int) -> None:
    if size > buffer.max_record:
        raise too_long(f"{buffer.name}, header", buffer.max_record)


def _header(text: memoryview, name: str) -> SamHeader:
    """Parse a header once: a CRAM file is opened again for each of its parts.

    Headers are known by their digest: texts take up to 100 MB each.
    """
    digest = hashlib.sha256(text).digest()
    header = _headers.get(digest)
    if header is None:
        try:
            header = SamHeader.from_text(_text(text))
        except InputError as error:
            raise InputError(f"{name}, {error}") from None
        _headers[digest] = header
        for oldest in list(_headers)[:-_MAX_HEADERS_KEPT]:
            _headers.pop(oldest, None)
    return header


def _with_contigs(header: SamHeader, names: tuple[str, ...], lengths: tuple[int, ...]) -> SamHeader:
    if not header.reference_names:
        return header.with_references(names, lengths) if names else header
    if (header.reference_names, header.reference_lengths) != (names, lengths):
        raise InputError(
            "header: the @SQ lines contradict the list of contigs; run: samtools reheader"
        )
    return header


def _count(buffer: RecordBuffer, what: str, limit: int, minimum: int = 0) -> int:
    value = int(struct.unpack("<i", buffer.take(4))[0])
    if not minimum <= value <= limit:
        raise InputError(
            f"{buffer.name}: damaged (its header gives {value} as {what}); copy it again"
        )
    return value


def _count_lines(text: memoryview) -> int:
    parts = (text[start : start + _PART] for start in range(0, len(text), _PART))
    return sum(part.tobytes().count(b"\n") for part in parts)


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "surrogateescape").split("\0", 1)[0]
