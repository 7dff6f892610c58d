"""FASTA: haplotypes read whole, references by region through their index."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias
from weakref import finalize

import numpy as np
import pysam
from isal import igzip
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bgzf.inflater import INFLATE_ERROR
from hapgpu.io.bgzf.pieces import is_bgzf
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_state import FileState
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta_text import FastaText
from hapgpu.io.genome.fasta_windows import FastaWindows, NotPlainError, plain_file
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.text.values import LAST_POSITION
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.pool import Pool

_MAX_UNCOUNTED: Final = 1 << 28

_NUMBERS: Final = 4
_MAX_DIGITS: Final = 4 * 19
_PLAIN_DIGITS: Final = 18
"""Of a number that fits int64 in any case."""
_TAB, _NEWLINE = b"\t\n"
_ZERO: Final = np.uint8(ord("0"))
_NINE: Final = 9
_Numbers: TypeAlias = "np.int64 | NDArray[np.int64]"
_PIECE_BYTES: Final = 1 << 16
"""Bytes per read: an index must not determine the memory used."""
_LINE_BYTES: Final = 256
"""Bytes of the first read of a piece: most header lines are shorter."""
_MAX_BLOCK_BYTES: Final = 1 << 16
_MAX_OFFSET: Final = 1 << 62
_GZIP: Final = b"\x1f\x8b"
_BGZF_HEAD_BYTES: Final = 18
_MAX_KEPT: Final = 4
"""Indexes that are kept."""
_DAMAGED: Final = (OSError, EOFError, INFLATE_ERROR)
_NO_BASES: Final = bytes({*range(256)} - {*range(ord("!"), ord("~") + 1)})
"""What htslib skips: line ends, and all else that does not print."""


@dataclass(frozen=True, slots=True)
class FastaRecords:
    """Records of a FASTA file.

    Attributes
    ----------
    names
        The first word of each header line.
    descriptions
        The text after the name on each header line; may be empty.
    sequences
        uint8 text, n rows; bytes as in the file (case and N kept).
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    sequences: Ragged

    def __len__(self) -> int:
        return len(self.names)


def read_fasta(
    path: str | Path,
    *,
    name: str | None = None,
    allow_empty: bool = False,
    max_record: int = MAX_RECORD,
    max_bases: int | None = None,
    pool: Pool | None = None,
) -> FastaRecords:
    """Read a FASTA file, plain, gzip- or BGZF-compressed, into memory.

    Parameters
    ----------
    path
        The file.
    name
        Name for messages; by default the path.
    allow_empty
        Whether a record may have no sequence.
    max_record
        Bytes of the longest header line and of the longest sequence.
    max_bases
        Bases of the longest sequence of a reference, instead of `max_record`. Before more than
        256 Mb of a sequence are stored, they are counted, so the file must be readable twice.
    pool
        Threads that read and parse a file on disk that is not compressed; by default, it is read
        as a stream. The records do not depend on it.

    Raises
    ------
    InputError
        The file cannot be read, is empty or not FASTA, or a record has no name, no sequence
        (unless allowed), a name that occurred before, a byte that is not a letter (such as `*` and
        `-`), or is too long.
    """
    name = name or str(path)
    new_text = partial(FastaText, name, max_record, max_bases)
    with open_inflated(path, name) as stream:
        found = _in_windows(stream, new_text, pool) if pool is not None else None
        text, bases = found or _in_pieces(stream, new_text, path)
    names = tuple(text.descriptions)
    if not names:
        raise InputError(f"{name}: no FASTA record; give FASTA")
    if not (allow_empty or all(text.lengths)):
        raise InputError(f"{name}, record '{names[text.lengths.index(0)]}': no sequence; remove it")
    sequences = Ragged.from_lengths(read_only(bases), text.lengths)
    return FastaRecords(names, tuple(text.descriptions.values()), sequences)


def _in_windows(
    stream: BufferedReader, new_text: Callable[[], FastaText], pool: Pool
) -> tuple[FastaText, NDArray[np.uint8]] | None:
    """Parse a file by several threads; None if it is inflated, or not plain from start to end."""
    file = plain_file(stream)
    if file is None:
        return None
    text = new_text()
    try:
        windows = FastaWindows(file, text, pool)
        counting = FastaWindows(file, new_text(), pool, keeps_bases=False)
        _parse(text, windows.windows(), counting.windows())
    except (NotPlainError, MemoryError):
        return None
    return text, windows.bases


def _in_pieces(
    stream: BufferedReader, new_text: Callable[..., FastaText], path: str | Path
) -> tuple[FastaText, NDArray[np.uint8]]:
    text = new_text()
    _parse(text, text.pieces(stream), _counting(path, new_text(keeps_bases=False)))
    return text, np.frombuffer(text.bases, np.uint8)


def _counting(path: str | Path, text: FastaText) -> Iterator[int]:
    """Parse a file only to raise its errors."""
    with open_inflated(path, text.name) as stream:
        yield from text.pieces(stream)


def _parse(text: FastaText, pieces: Iterator[int], counting: Iterator[int]) -> None:
    """Parse all pieces; before many bases of a reference are stored, count those of the file."""
    for bases in pieces:
        if bases > _MAX_UNCOUNTED and text.is_reference:
            deque(counting, maxlen=0)


class ReferenceFasta(Closeable):
    """Reference with an index (`samtools faidx`), open for random access.

    Parameters
    ----------
    path
        FASTA, plain or BGZF-compressed, with its `.fai` (and `.gzi`) beside it.

    Raises
    ------
    InputError
        The file or its index is missing, or cannot be read, or the index is malformed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        _check_files(self.path)
        self._entries = read_fai(self.path)
        self._checked: set[str] = set()
        try:
            self._text = _open_text(self.path)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: not an indexed FASTA, plain or compressed by bgzip ({error}); run:"
                f" samtools faidx {path}"
            ) from error
        self._index_check = FastaIndexCheck(self.path, self._text)
        self.lengths: Mapping[str, int] = self._entries.lengths

    def contig_length(self, region: Region) -> int:
        """Return the length of the contig of a region, which must be within it.

        Raises
        ------
        InputError
            The contig is unknown, or the region ends after its contig.
        """
        length = self.lengths.get(region.contig)
        if length is None:
            hint = contig_hint(region.contig, self.lengths)
            raise InputError(f"{self.path}: no contig '{region.contig}'{hint}")
        if region.end > length:
            raise InputError(f"{self.path}: {region} ends after the {length:,} bases of its contig")
        return length

    def fetch(self, region: Region) -> bytes:
        """Return the bases of a region as they are in the file, case and N kept.

        Raises
        ------
        InputError
            The contig is unknown, the region ends after its contig, the index does not match the
            file, or the file is damaged.
        """
        self.contig_length(region)
        self._check(region.contig)
        entry = self._entries[region.contig]
        start, end = entry.offset_of(region.start), entry.offset_of(region.end - 1) + 1
        try:
            bases = self._text.read(start, end - start).translate(None, _NO_BASES)
        except _DAMAGED:
            bases = b""
        if len(bases) != region.end - region.start:
            raise InputError(
                f"{self.path}: {region} cannot be read (file damaged, or does not match its index);"
                f" run: samtools faidx {self.path}"
            )
        return bases

    def _check(self, contig: str) -> None:
        """Check the index of a contig, once: a wrong index gives wrong bases."""
        if contig not in self._checked:
            self._index_check(contig, self._entries[contig])
            self._checked.add(contig)

    def close(self) -> None:
        """Close the file."""
        self._text.close()


def _check_files(path: Path) -> None:
    """Raise an error for files that htslib cannot read, or not within bounded memory."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: a pipe cannot be read by region; give a file")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    index, blocks = Path(f"{path}.fai"), Path(f"{path}.gzi")
    if not index.is_file():
        raise InputError(f"{path}: no index {index}; run: samtools faidx {path}")
    for file in (index, blocks):
        if file.is_file() and file.stat().st_size > MAX_RECORD:
            raise InputError(f"{file}: too large for an index; run: samtools faidx {path}")


class FastaEntry(NamedTuple):
    """Location of a sequence in its file.

    Attributes
    ----------
    length
        Number of bases.
    offset
        Offset of the first base in the inflated file.
    line_bases, line_width
        Bases of each line except the last, and bytes with the line end.
    """

    length: int
    offset: int
    line_bases: int
    line_width: int

    def offset_of(self, base: int) -> int:
        """Return the offset of a base in the inflated file."""
        line, column = divmod(base, self.line_bases)
        return self.offset + line * self.line_width + column


class FastaIndex(Mapping[str, FastaEntry]):
    """Entries of a FASTA file by name, in columns: an assembly may have a million.

    Parameters
    ----------
    names
        Name of each sequence, in the order of the file, each once.
    columns
        int64[4, n]: the fields of each entry.
    """

    def __init__(self, names: Iterable[str], columns: NDArray[np.int64]) -> None:
        self._rows = dict(zip(names, count()))
        self._columns = columns

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """Number of bases of each sequence."""
        return dict(zip(self._rows, self._columns[0].tolist(), strict=True))

    def __getitem__(self, name: str) -> FastaEntry:
        return FastaEntry(*self._columns[:, self._rows[name]].tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def read_fai(fasta: Path) -> FastaIndex:
    """Read the index of a FASTA file.

    Raises
    ------
    InputError
        The index cannot be read, or a line is malformed.
    """
    return _read_once(fasta, FileState.of(Path(f"{fasta}.fai")))


@lru_cache(_MAX_KEPT)
def _read_once(fasta: Path, _state: FileState) -> FastaIndex:
    """Read an index, once while it is unchanged: each worker opens the reference."""
    path = f"{fasta}.fai"
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _plain_index(text) or _index_by_line(text, fasta)


def _index_by_line(text: bytes, fasta: Path) -> FastaIndex:
    entries: dict[str, FastaEntry] = {}
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
        name, *numbers = line.decode("utf-8", "surrogateescape").rstrip("\r").split("\t")
        entry = _entry(numbers[:_NUMBERS])
        if text and (not name or name in entries or entry is None):
            raise InputError(
                f"{fasta}.fai, line {number}: expected the name and four numbers of a contig; run:"
                f" samtools faidx {fasta}"
            )
        if entry is not None:
            entries[name] = entry
    if not entries:
        raise InputError(f"{fasta}.fai: lists no contig; run: samtools faidx {fasta}")
    return FastaIndex(entries, np.array(list(entries.values()), dtype=np.int64).T)


def _plain_index(text: bytes) -> FastaIndex | None:
    """Parse lines of exactly five columns, all at once; None if there are others or a fault."""
    data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", dtype=np.uint8)
    ends, tabs = np.flatnonzero(data == _NEWLINE), np.flatnonzero(data == _TAB)
    if tabs.size != _NUMBERS * ends.size:
        return None
    bounds = np.column_stack([tabs.reshape(-1, _NUMBERS), ends])
    starts = np.append(-1, ends[:-1])
    if not (starts + 1 < bounds[:, 0]).all() or not (bounds[:, 0] < ends).all():
        return None
    columns = _columns_of(data, bounds)
    if columns is None or not _are_sound(*columns):
        return None
    steps = np.zeros(data.size, dtype=np.int8)
    steps[bounds[:, 0]], steps[ends] = 1, -1
    names = data[np.cumsum(steps, dtype=np.int8) == 0].tobytes()
    index = FastaIndex(names.decode("utf-8", "surrogateescape").split("\n")[:-1], columns)
    return index if len(index) == ends.size else None


def _columns_of(data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the numbers between bounds of fields, int64[4, n]; None if there are others."""
    starts, widths = bounds.T[:-1] + 1, np.diff(bounds.T, axis=0) - 1
    if widths.min() < 1 or widths.max() > _PLAIN_DIGITS:
        return None
    columns = np.zeros(starts.shape, dtype=np.int64)
    for column, start, width in zip(columns, starts, widths, strict=True):
        for k in range(int(width.max())):  # columns differ in their digits
            has_digit = k < width
            digits = data[np.where(has_digit, start + k, start)] - _ZERO  # wraps around
            if digits.max() > _NINE:
                return None
            column[:] = np.where(has_digit, 10 * column + digits, column)
    return columns


def _entry(numbers: list[str]) -> FastaEntry | None:
    digits = "".join(numbers)
    if len(numbers) != _NUMBERS or not (digits.isascii() and digits.isdecimal() and all(numbers)):
        return None
    if len(digits) > _MAX_DIGITS:
        return None
    entry = FastaEntry(*map(int, numbers))
    is_small = max(entry) <= _MAX_OFFSET
    return entry if is_small and _are_sound(*np.array(entry, dtype=np.int64)) else None


def _are_sound(
    lengths: _Numbers, offsets: _Numbers, line_bases: _Numbers, line_widths: _Numbers
) -> bool:
    has_lines = ((line_bases > 0) & (line_bases < line_widths)) | (lengths <= line_bases)
    is_small = (np.maximum(lengths, line_widths) <= LAST_POSITION) & (offsets < _MAX_OFFSET)
    return bool(np.all(has_lines & is_small))


class _InflatedText:
    """Inflated bytes of a file, by their offsets.

    Parameters
    ----------
    file
        The file, open.
    blocks
        The blocks of `_blocks_of`, if the file is compressed by bgzip.

    Attributes
    ----------
    close
        Closes the file; called at the latest when this object is deleted.
    """

    def __init__(self, file: BinaryIO, blocks: tuple[list[int], list[int]] | None) -> None:
        self._file = file
        self.close = finalize(self, file.close)  # not every user closes a reference
        self._blocks = blocks

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes, less only at the end of the file.

        Raises
        ------
        OSError, EOFError, INFLATE_ERROR
            The file is damaged, or the offset is not in it.
        """
        if self._blocks is None:
            self._file.seek(offset)
            return self._file.read(size)
        starts, offsets = self._blocks
        block = bisect_right(starts, offset) - 1
        before = offset - starts[block]
        if before > _MAX_BLOCK_BYTES and block + 1 < len(starts):
            raise EOFError
        self._file.seek(offsets[block])
        with igzip.IGzipFile(fileobj=self._file) as inflated:
            while before > 0 and (skipped := len(inflated.read(min(before, _PIECE_BYTES)))):
                before -= skipped
            return b"" if before else bytes(inflated.read(size))


def _open_text(fasta: Path) -> _InflatedText:
    """Open a FASTA file, plain or compressed by bgzip.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or is compressed otherwise.
    InputError
        Its `.gzi` is damaged.
    """
    index = Path(f"{fasta}.gzi")
    with ExitStack() as stack:
        file = stack.enter_context(fasta.open("rb"))
        head = file.read(_BGZF_HEAD_BYTES)
        is_compressed = head.startswith(_GZIP)
        if is_compressed and not is_bgzf(head):
            raise ValueError("compressed by gzip")
        if is_compressed and not index.is_file():
            # htslib makes the .gzi. It never treats an absolute name as a URL.
            with silent_htslib():
                pysam.FastaFile(str(fasta.absolute())).close()
        text = _InflatedText(file, _blocks_of(index) if is_compressed else None)
        stack.pop_all()
    return text


class FastaIndexCheck:
    """Check that sequences of a FASTA file start and end where its index says.

    Parameters
    ----------
    fasta
        The file, for messages.
    text
        Its inflated bytes.
    """

    def __init__(self, fasta: Path, text: _InflatedText) -> None:
        self._fasta = fasta
        self._read = text.read

    def __call__(self, name: str, entry: FastaEntry) -> None:
        """Make sure that a sequence is where its entry says.

        Checks the name before it, the ends of its first and last lines, and that no base follows.

        Raises
        ------
        InputError
            The sequence is not there.
        """
        try:
            matches = self._matches(name.encode("utf-8", "surrogateescape"), entry)
        except _DAMAGED:
            matches = False
        if not matches:
            raise InputError(
                f"{self._fasta}.fai: does not match {self._fasta} at contig {name}; run: samtools"
                f" faidx {self._fasta}"
            )

    def _matches(self, name: bytes, entry: FastaEntry) -> bool:
        if not self._has_name(name, entry.offset):
            return False
        if entry.length == 0:
            return self._is_last(entry.offset)
        last = entry.offset_of(entry.length - 1)
        end = self._read(last, 2)
        is_end = end[:1].strip() and not end[1:].strip()
        return bool(is_end) and self._is_last(last + 1) and self._has_lines(entry)

    def _has_name(self, name: bytes, offset: int) -> bool:
        """Tell whether a header line with this name ends before an offset."""
        if offset == 0 or self._read(offset - 1, 1) != b"\n":
            return False
        start = self._line_start(offset - 1)
        line = self._read(start, min(len(name) + 2, offset - start))
        return line[1:].split(maxsplit=1)[:1] == [name]

    def _line_start(self, end: int) -> int:
        """Return the start of the line that ends at `end`."""
        size = _LINE_BYTES
        while end > 0:
            start, size = max(end - size, 0), _PIECE_BYTES
            found = self._read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _is_last(self, offset: int) -> bool:
        """Tell whether only white space is between an offset and the next header, or the end."""
        size = _LINE_BYTES
        while piece := self._read(offset, size):
            if following := piece.lstrip():
                return following[:1] == b">"
            offset, size = offset + len(piece), _PIECE_BYTES
        return True

    def _has_lines(self, entry: FastaEntry) -> bool:
        """Tell whether the first line and the second to last line end where the entry says."""
        whole_lines = (entry.length - 1) // entry.line_bases
        return all(
            self._ends_line(entry, entry.offset + line * entry.line_width)
            for line in {1, whole_lines}
            if whole_lines
        )

    def _ends_line(self, entry: FastaEntry, end: int) -> bool:
        """Tell whether a line ends at `end`, with a line end of the size in the entry."""
        line_end = entry.line_width - entry.line_bases
        text = self._read(end - line_end - 1, min(1 + line_end, _PIECE_BYTES))
        is_end = text[:1].strip() and not text[1:].strip()
        return bool(is_end) and self._read(end - 1, 1) == b"\n"


def _blocks_of(index: Path) -> tuple[list[int], list[int]]:
    """Return the offsets of blocks in the inflated file, and in the file."""
    try:
        numbers = np.fromfile(index, dtype="<u8")
    except OSError as error:
        raise InputError(f"{index}: cannot be read ({error.strerror or error})") from error
    rows = numbers[1:].reshape(-1, 2) if numbers.size % 2 else numbers[:0].reshape(-1, 2)
    is_sorted = (rows < _MAX_OFFSET).all() and (rows[1:] >= rows[:-1]).all()
    if numbers.size != 2 * int(numbers[:1].sum()) + 1 or not is_sorted:
        raise InputError(f"{index}: damaged; run: bgzip -r {index.with_suffix('')}")
    offsets, starts = numbers[1::2].tolist(), numbers[2::2].tolist()
    return [0, *starts], [0, *offsets]
