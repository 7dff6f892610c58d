"""FASTA: haplotypes read whole, references by region through their index."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import pysam

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta_index import FastaIndexCheck, read_fai
from hapgpu.io.genome.fasta_text import FastaText
from hapgpu.io.genome.regions import Region, contig_hint

_MAX_UNCOUNTED: Final = 1 << 28


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

    Raises
    ------
    InputError
        The file cannot be read, is empty or not FASTA, or a record has no name, no sequence
        (unless allowed), a name that occurred before, a byte that is not a letter (such as `*` and
        `-`), or is too long.
    """
    name = name or str(path)
    text = FastaText(name, max_record, max_bases)
    is_counted = max_bases is None
    with open_inflated(path, name) as stream:
        for bases in text.pieces(stream):
            if bases > _MAX_UNCOUNTED and not is_counted:
                _count(path, FastaText(name, max_record, max_bases, keeps_bases=False))
                is_counted = True
    names = tuple(text.descriptions)
    if not names:
        raise InputError(f"{name}: no FASTA record; give FASTA")
    if not (allow_empty or all(text.lengths)):
        raise InputError(f"{name}, record '{names[text.lengths.index(0)]}': no sequence; remove it")
    sequences = Ragged.from_lengths(read_only(np.frombuffer(text.bases, np.uint8)), text.lengths)
    return FastaRecords(names, tuple(text.descriptions.values()), sequences)


def _count(path: str | Path, text: FastaText) -> None:
    """Parse a file only to raise its errors."""
    with open_inflated(path, text.name) as stream:
        deque(text.pieces(stream), maxlen=0)


class ReferenceFasta:
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
        self._unchecked = set(self._entries)
        try:
            with silent_htslib():
                # htslib never treats an absolute name as a URL.
                self._file = pysam.FastaFile(str(self.path.absolute()))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: not an indexed FASTA, plain or compressed by bgzip ({error}); run:"
                f" samtools faidx {path}"
            ) from error
        self._index_check = FastaIndexCheck(self.path)
        self.lengths: dict[str, int] = {name: entry.length for name, entry in self._entries.items()}

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
        try:
            with silent_htslib():
                bases: str = self._file.fetch(region.contig, region.start, region.end)
        except (KeyError, OSError, ValueError):  # htslib may split index lines differently
            bases = ""
        if len(bases) != region.end - region.start:
            raise InputError(
                f"{self.path}: {region} cannot be read (file damaged, or does not match its index);"
                f" run: samtools faidx {self.path}"
            )
        return bases.encode("ascii")

    def _check(self, contig: str) -> None:
        """Check the index of a contig, once: a wrong index gives wrong bases."""
        if contig in self._unchecked:
            self._index_check(contig, self._entries[contig])
            self._unchecked.discard(contig)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._index_check.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


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
