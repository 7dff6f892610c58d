"""The index of a FASTA file (`.fai`), and whether it fits the file."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import numpy as np
from isal import igzip, isal_zlib

from hapgpu.errors import InputError
from hapgpu.io.bgzf import is_bgzf
from hapgpu.io.position_text import LAST_POSITION

_NUMBERS: Final = 4
_MOST_DIGITS: Final = 4 * 19
_LONGEST_HEADER: Final = 1 << 16
_BGZF_HEAD_BYTES: Final = 18
_DAMAGED: Final = (OSError, EOFError, cast("type[Exception]", isal_zlib.error))


class FastaEntry(NamedTuple):
    """Where a sequence lies in its file.

    Attributes
    ----------
    length
        In bases.
    offset
        Of the first base, in bytes of the inflated file.
    line_bases, line_width
        Of each line but the last: its bases, and its bytes with the line end.
    """

    length: int
    offset: int
    line_bases: int
    line_width: int

    def offset_of(self, base: int) -> int:
        """Return where a base lies."""
        line, place = divmod(base, self.line_bases)
        return self.offset + line * self.line_width + place


def read_fai(fasta: Path) -> dict[str, FastaEntry]:
    """Read the index of a FASTA file.

    Raises
    ------
    InputError
        It cannot be read, or a line is malformed.
    """
    index = f"{fasta}.fai"
    try:
        text = Path(index).read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{index}: cannot be read: {error.strerror or error}") from error
    entries = {}
    for number, line in enumerate(text.split("\n")[: -1 if text.endswith("\n") else None], 1):
        name, *numbers = line.rstrip("\r").split("\t")
        entry = _entry(numbers[:_NUMBERS])
        if not name or name in entries or entry is None:
            raise InputError(
                f"{index}, line {number}: no name and four numbers of a contig; run: samtools"
                f" faidx {fasta}"
            )
        entries[name] = entry
    if not entries:
        raise InputError(f"{index}: lists no contig; run: samtools faidx {fasta}")
    return entries


def _entry(numbers: list[str]) -> FastaEntry | None:
    digits = "".join(numbers)  # an assembly may have a million lines: one look at each
    if len(numbers) != _NUMBERS or not (digits.isascii() and digits.isdecimal() and all(numbers)):
        return None
    if len(digits) > _MOST_DIGITS:
        return None
    entry = FastaEntry(*map(int, numbers))
    has_lines = 0 < entry.line_bases < entry.line_width or entry.length <= entry.line_bases
    is_small = max(entry.length, entry.line_width) <= LAST_POSITION and entry.offset < 2**62
    return entry if has_lines and is_small else None


class FastaIndexCheck:
    """Looks at a FASTA file where its index says that sequences begin and end.

    Parameters
    ----------
    fasta
        Plain, or compressed by bgzip with its `.gzi`.
    """

    def __init__(self, fasta: Path) -> None:
        self._fasta = fasta
        with fasta.open("rb") as file:
            is_compressed = is_bgzf(file.read(_BGZF_HEAD_BYTES))
        self._blocks = _blocks_of(Path(f"{fasta}.gzi")) if is_compressed else None

    def __call__(self, name: str, entry: FastaEntry) -> None:
        """Make sure that a sequence lies where its entry says.

        There its name is before it, its first and last line end, and nothing of it follows.

        Raises
        ------
        InputError
            It does not.
        """
        try:
            with self._fasta.open("rb") as file:
                fits = self._fits(file, name.encode("utf-8", "surrogateescape"), entry)
        except _DAMAGED:
            fits = False
        if not fits:
            raise InputError(
                f"{self._fasta}.fai: made of another file, or {self._fasta} has changed since, at"
                f" {name}; run: samtools faidx {self._fasta}"
            )

    def _fits(self, file: BinaryIO, name: bytes, entry: FastaEntry) -> bool:
        before = min(entry.offset, _LONGEST_HEADER)
        header = self._read(file, entry.offset - before, before)
        line = header[header.rfind(b"\n", 0, -1) + 1 :]
        if line[-1:] != b"\n" or line[1:].split(maxsplit=1)[:1] != [name]:
            return False
        if entry.length == 0:
            return self._read(file, entry.offset, _LONGEST_HEADER).lstrip()[:1] in (b"", b">")
        last = entry.offset_of(entry.length - 1)
        end = self._read(file, last, 1 + entry.line_width)
        following = end[1:].lstrip()[:1]
        is_last = following == b">" or (not following and len(end) <= entry.line_width)
        is_end = end[:1].strip() and end[1:2].strip() == b""
        return bool(is_end) and is_last and self._has_lines(file, entry)

    def _has_lines(self, file: BinaryIO, entry: FastaEntry) -> bool:
        """Tell whether the first line, and the last but one, ends where the entry says."""
        whole = (entry.length - 1) // entry.line_bases
        return all(
            self._ends_line(file, entry, entry.offset + line * entry.line_width)
            for line in {1, whole}
            if whole
        )

    def _ends_line(self, file: BinaryIO, entry: FastaEntry, end: int) -> bool:
        text = self._read(file, end - entry.line_width, entry.line_width)
        return (
            text.endswith(b"\n")
            and len(text) == entry.line_width
            and len(text.rstrip()) == entry.line_bases
        )

    def _read(self, file: BinaryIO, offset: int, size: int) -> bytes:
        if self._blocks is None:
            file.seek(offset)
            return file.read(size)
        starts, places = self._blocks
        block = bisect_right(starts, offset) - 1
        file.seek(places[block])
        with igzip.IGzipFile(fileobj=file) as inflated:
            return bytes(inflated.read(offset - starts[block] + size)[offset - starts[block] :])


def _blocks_of(index: Path) -> tuple[list[int], list[int]]:
    """Return where blocks begin in the inflated file, and in the file."""
    try:
        numbers = np.fromfile(index, dtype="<u8")
    except OSError as error:
        raise InputError(f"{index}: cannot be read: {error.strerror or error}") from error
    if numbers.size != 2 * int(numbers[:1].sum()) + 1:
        raise InputError(f"{index}: damaged; run: bgzip -r {index.with_suffix('')}")
    places, starts = numbers[1::2].tolist(), numbers[2::2].tolist()
    return [0, *starts], [0, *places]
