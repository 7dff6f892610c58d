"""FASTA: haplotypes read whole, references by region through their index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pysam

from hapgpu.batch import Ragged
from hapgpu.errors import InputError
from hapgpu.io.compressed import open_inflated
from hapgpu.io.fasta_index import FastaIndexCheck, read_fai
from hapgpu.io.htslib import silent_htslib
from hapgpu.io.regions import Region, contig_hint


@dataclass(frozen=True, slots=True)
class FastaRecords:
    """The n records of a FASTA file.

    Attributes
    ----------
    names
        The first word of each header line.
    descriptions
        What follows the name on its header line; empty where nothing does.
    sequences
        uint8 text, n rows, each byte as in the file (case and N kept).
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    sequences: Ragged

    def __len__(self) -> int:
        return len(self.names)


def read_fasta(path: str | Path, *, allow_empty: bool = False) -> FastaRecords:
    """Read a FASTA file, plain, gzip- or BGZF-compressed, into memory.

    Parameters
    ----------
    path
        Of the file.
    allow_empty
        Whether a record may be without a sequence.

    Raises
    ------
    InputError
        The file cannot be read, is empty or not FASTA, or a record has no name, no sequence where
        that is not allowed, a name that occurred before, or a byte that is no letter (`*` and `-`
        included).
    """
    text = _Text(path)
    names: list[str] = []
    descriptions: list[str] = []
    sequences: list[bytes] = []
    for start, end in text.records():
        bases = text.find(b"\n", start)
        name, description = text.header(start, bases)
        names.append(name)
        descriptions.append(description)
        sequences.append(text.sequence(bases, end, name))
    _check_names(names, path)
    if not (allow_empty or all(sequences)):
        raise InputError(f"{path}: record '{names[sequences.index(b'')]}' has no sequence")
    return FastaRecords(tuple(names), tuple(descriptions), Ragged.from_sequences(sequences))


class _Text:
    """A FASTA file in memory, and the means to say on which line something is wrong."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with open_inflated(path, str(path)) as stream:
            data = stream.read()
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._data = data

    def records(self) -> Iterator[tuple[int, int]]:
        """Yield where each record begins and ends."""
        start = 0 if self._data.startswith(b">") else self.find(b"\n>", 0) + 1
        if self._data[:start].strip():
            at = len(self._data) - len(self._data.lstrip())
            raise InputError(
                f"{self._place(at)}: not FASTA: expected a header line that starts with '>'"
            )
        while start < len(self._data):
            end = self.find(b"\n>", start) + 1
            yield start, end
            start = end

    def find(self, what: bytes, start: int) -> int:
        """Return where this comes next, or the end of the file."""
        at = self._data.find(what, start)
        return at if at >= 0 else len(self._data)

    def header(self, start: int, end: int) -> tuple[str, str]:
        """Return name and description of the header line that lies here."""
        try:
            text = self._data[start + 1 : end].decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self._place(start)}: the header line is not text") from None
        if not text.strip() or text[0].isspace():
            raise InputError(f"{self._place(start)}: the header line has no name after '>'")
        name, *description = text.split(maxsplit=1)
        return name, description[0].rstrip() if description else ""

    def sequence(self, start: int, end: int, name: str) -> bytes:
        """Join the lines that lie here."""
        joined = self._data[start:end].translate(None, b"\n")
        return joined if joined.isalpha() else self._stripped(start, end, name)

    def _stripped(self, start: int, end: int, name: str) -> bytes:
        """Join lines with blanks around them; refuse any other byte that is no letter."""
        lines = []
        at = start
        for line in self._data[start:end].split(b"\n"):
            bases = line.strip()
            if bases and not bases.isalpha():
                bad = next(byte for byte in bases if not bytes([byte]).isalpha())
                raise InputError(
                    f"{self._place(at)}: {chr(bad)!r} in the sequence of '{name}' is no base"
                )
            lines.append(bases)
            at += len(line) + 1
        return b"".join(lines)

    def _place(self, at: int) -> str:
        lines_before = self._data.count(b"\n", 0, at)
        return f"{self._path}, line {lines_before + 1}"


def _check_names(names: list[str], path: str | Path) -> None:
    if not names:
        raise InputError(f"{path}: no FASTA record in the file")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: two records are named '{name}'; names must be unique")
        seen.add(name)


class ReferenceFasta:
    """A reference with an index (`samtools faidx`), open for random access.

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
        if not self.path.is_file():
            raise InputError(f"{path}: no such file")
        if not Path(f"{path}.fai").is_file():
            raise InputError(f"{path}: the index {path}.fai is missing; run: samtools faidx {path}")
        self._entries = read_fai(self.path)
        self._unchecked = set(self._entries)
        try:
            with silent_htslib():
                # An absolute name is never taken for a URL.
                self._file = pysam.FastaFile(str(self.path.absolute()))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: cannot be read as an indexed FASTA, plain or compressed by bgzip:"
                f" {error}; run: samtools faidx {path}"
            ) from error
        self._index_check = FastaIndexCheck(self.path)
        self.lengths: dict[str, int] = {name: entry.length for name, entry in self._entries.items()}

    def length_under(self, region: Region) -> int:
        """Return the length of a region's contig.

        Raises
        ------
        InputError
            The contig is unknown, or the region ends beyond it.
        """
        length = self.lengths.get(region.contig)
        if length is None:
            hint = contig_hint(region.contig, self.lengths)
            raise InputError(f"{self.path}: no contig '{region.contig}'{hint}")
        if region.end > length:
            raise InputError(
                f"{self.path}: {region} ends beyond the {length:,} bases of its contig"
            )
        return length

    def fetch(self, region: Region) -> bytes:
        """Return the bases of a region as they are in the file, case and N kept.

        Raises
        ------
        InputError
            The contig is unknown, the region ends beyond it, the index is of another file, or the
            file is damaged.
        """
        self.length_under(region)
        self._check(region.contig)
        try:
            with silent_htslib():
                bases: str = self._file.fetch(region.contig, region.start, region.end)
        except (OSError, ValueError):
            bases = ""
        if len(bases) != region.end - region.start:
            raise InputError(
                f"{self.path}: {region} cannot be read: the file is damaged or its index is of"
                f" another file; run: samtools faidx {self.path}"
            )
        return bases.encode("ascii")

    def _check(self, contig: str) -> None:
        """Make sure, once, that the index is right about a contig: else its bases were others."""
        if contig in self._unchecked:
            self._index_check(contig, self._entries[contig])
            self._unchecked.discard(contig)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
