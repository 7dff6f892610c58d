"""Index of a FASTA file (`.fai`): where each sequence is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.file_state import FileState
from hapgpu.io.text.values import LAST_POSITION, rows_of

MAX_OFFSET: Final = 1 << 62

_NUMBERS: Final = 4
_MAX_DIGITS: Final = 4 * 19
_PLAIN_DIGITS: Final = 18
"""Of a number that fits int64 in any case."""
_TAB, _NEWLINE = b"\t\n"
_ZERO: Final = np.uint8(ord("0"))
_NINE: Final = 9
_MAX_KEPT: Final = 4
"""Indexes that are kept."""
_Numbers: TypeAlias = "np.int64 | NDArray[np.int64]"


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

    Attributes
    ----------
    columns
        As above.
    """

    def __init__(self, names: Iterable[str], columns: NDArray[np.int64]) -> None:
        self._rows = rows_of(tuple(names))
        self.columns = columns

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """Number of bases of each sequence."""
        return dict(zip(self._rows, self.columns[0].tolist(), strict=True))

    def rows(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n]: the columns of sequences that are in the index."""
        return np.fromiter(map(self._rows.__getitem__, names), dtype=np.int64, count=len(names))

    def __getitem__(self, name: str) -> FastaEntry:
        return FastaEntry(*self.columns[:, self._rows[name]].tolist())

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
    is_small = max(entry) <= MAX_OFFSET
    return entry if is_small and _are_sound(*np.array(entry, dtype=np.int64)) else None


def _are_sound(
    lengths: _Numbers, offsets: _Numbers, line_bases: _Numbers, line_widths: _Numbers
) -> bool:
    has_lines = ((line_bases > 0) & (line_bases < line_widths)) | (lengths <= line_bases)
    is_small = (np.maximum(lengths, line_widths) <= LAST_POSITION) & (offsets < MAX_OFFSET)
    return bool(np.all(has_lines & is_small))
