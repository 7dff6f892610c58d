"""FASTA: haplotypes read whole, references by region through their index."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pysam

from hapgpu.batch import Ragged
from hapgpu.errors import InputError
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


def read_fasta(path: str | Path) -> FastaRecords:
    """Read a FASTA file, plain, gzip- or BGZF-compressed, into memory.

    Raises
    ------
    InputError
        The file cannot be read, is empty or not FASTA, or a record has no name, no sequence, a
        name that occurred before, or a byte that is no letter (`*` and `-` included).
    """
    names: list[str] = []
    descriptions: list[str] = []
    sequences: list[list[bytes]] = []
    for number, line in enumerate(_read_whole(Path(path)).splitlines(), start=1):
        place = f"{path}, line {number}"
        if line.startswith(b">"):
            name, description = _parse_header(line, place)
            names.append(name)
            descriptions.append(description)
            sequences.append([])
        elif text := line.strip():
            if not sequences:
                raise InputError(f"{place}: not FASTA: expected a header line that starts with '>'")
            sequences[-1].append(_checked_bases(text, names[-1], place))
    joined = [b"".join(lines) for lines in sequences]
    _check_records(names, joined, path)
    return FastaRecords(tuple(names), tuple(descriptions), Ragged.from_sequences(joined))


def _read_whole(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except EOFError:
        raise InputError(f"{path}: the file is cut short") from None
    except (OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}") from error


def _parse_header(line: bytes, place: str) -> tuple[str, str]:
    try:
        text = line[1:].decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{place}: the header line is not text") from None
    if not text.strip() or text[0].isspace():
        raise InputError(f"{place}: the header line has no name after '>'")
    name, *description = text.split(maxsplit=1)
    return name, description[0].rstrip() if description else ""


def _checked_bases(text: bytes, name: str, place: str) -> bytes:
    if not text.isalpha():
        bad = next(chr(byte) for byte in text if not chr(byte).isascii() or not chr(byte).isalpha())
        raise InputError(f"{place}: {bad!r} in the sequence of '{name}' is no base")
    return text


def _check_records(names: list[str], sequences: list[bytes], path: str | Path) -> None:
    if not names:
        raise InputError(f"{path}: no FASTA record in the file")
    seen: set[str] = set()
    for name, sequence in zip(names, sequences, strict=True):
        if not sequence:
            raise InputError(f"{path}: record '{name}' has no sequence")
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
        The file or its index is missing, or cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"{path}: no such file")
        if not Path(f"{path}.fai").is_file():
            raise InputError(f"{path}: the index {path}.fai is missing; run: samtools faidx {path}")
        try:
            self._file = pysam.FastaFile(str(path))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as an indexed FASTA: {error}") from error
        self.lengths: dict[str, int] = dict(
            zip(self._file.references, self._file.lengths, strict=True)
        )

    def fetch(self, region: Region) -> bytes:
        """Return the bases of a region as they are in the file, case and N kept.

        Raises
        ------
        InputError
            The contig is unknown, the region ends beyond it, or the file is damaged.
        """
        length = self.lengths.get(region.contig)
        if length is None:
            hint = contig_hint(region.contig, self.lengths)
            raise InputError(f"{self.path}: no contig '{region.contig}'{hint}")
        if region.end > length:
            raise InputError(
                f"{self.path}: {region} ends beyond the {length:,} bases of its contig"
            )
        try:
            bases: str = self._file.fetch(region.contig, region.start, region.end)
        except (OSError, ValueError):
            bases = ""
        if len(bases) != region.end - region.start:
            raise InputError(
                f"{self.path}: {region} cannot be read: the file is damaged or its index is of"
                f" another file; run: samtools faidx {self.path}"
            )
        return bases.encode("ascii")

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
