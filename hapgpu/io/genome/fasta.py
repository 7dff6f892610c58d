"""FASTA read whole: haplotypes, and references that are indexed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta_text import FastaText
from hapgpu.io.genome.fasta_windows import FastaWindows, NotPlainError, plain_file
from hapgpu.runtime.pool import Pool

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
