"""Records of an indexed VCF by their positions."""

from __future__ import annotations

import gzip
import logging
import os
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pysam
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.alignments.index_bins import BinIndex
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.files.beside import VCF_INDEXES, index_beside
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.jit import njit, njit_inlined

logger = logging.getLogger(__name__)

_MAX_GAP: Final = 1 << 14
"""Bases between two positions that are read in one go, at most: those of a leaf of the index."""
_READ_BYTES: Final = 1 << 18
_LENGTH: Final = re.compile(r"##contig=<(?:.*,)?ID=([^,>]+),(?:.*,)?length=([0-9]+)[,>]")
_TABIX_MAGIC: Final = b"TBI\1"
_TABIX_HEAD: Final = 36
_NAMES_BYTES: Final = 32
"""Offset of the size of the names, which follow the head."""

_TAB, _NEWLINE, _ZERO, _NINE = b"\t\n09"
_ALL, _PASSED, _OTHER_CONTIG = range(3)
"""States after a piece of text: all of it was compared; a line is after the last position, or of
another contig."""
_UNKNOWN: Final = -1


def warn_of_old_index(path: Path) -> None:
    """Warn if the index of a file is older than the file by whole seconds."""
    index = index_beside(path, VCF_INDEXES)
    if index is not None and int(index.stat().st_mtime) < int(path.stat().st_mtime):
        logger.warning(
            "%s: older than %s; if the file has changed since, run: tabix -f -p vcf %s",
            index,
            path,
            path,
        )


class IndexedVcf(Closeable):
    """VCF, compressed by bgzip, with its index; a context manager.

    A file is for one thread at a time. It may be opened before a fork, and used after it: each
    process opens the file anew.

    Parameters
    ----------
    path
        The file; X.tbi or X.csi is beside it.

    Attributes
    ----------
    contigs
        Names of the contigs in the index, and their numbers.

    Raises
    ------
    InputError
        There is no index, or the file or the index cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        index = index_beside(Path(path), VCF_INDEXES)
        if index is None:
            raise InputError(f"{path}: no index; run: tabix -p vcf {path}")
        try:
            # Latin-1 keeps all bytes as they are.
            with (
                silent_htslib(),
                pysam.TabixFile(self._path, index=str(index), encoding="latin-1") as file,
            ):
                self.contigs: Mapping[str, int] = {name: k for k, name in enumerate(file.contigs)}
                self._header = list(file.header)
            self._index = _bins_of(gzip.decompress(index.read_bytes()))
        except (OSError, EOFError, ValueError, struct.error) as error:
            raise self._mismatch(str(error)) from error
        self._open()

    def _open(self) -> None:
        self._file, self._process = pysam.BGZFile(self._path), os.getpid()

    def _mismatch(self, reason: str) -> InputError:
        return InputError(
            f"{self._path}: cannot be read by its index ({reason}); run: tabix -f -p vcf"
            f" {self._path}"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def contig_lengths(self) -> Mapping[str, int]:
        """Return the lengths of the contigs that the header names with a length."""
        found = (_LENGTH.match(line) for line in self._header)
        return {match[1]: int(match[2]) for match in found if match}

    def lines_at(self, contig: str, positions: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
        """Yield the records that start at some positions, in file order.

        Parameters
        ----------
        contig
            Name of the contig; there may be no records of it.
        positions
            int64[n], 0-based, ascending, different.

        Yields
        ------
        The number of the position, and the line in Latin-1.

        Raises
        ------
        InputError
            The file is damaged, or does not match its index.
        """
        if self._process != os.getpid():
            self._open()
        if not positions.size or contig not in self.contigs:
            return
        for first, end in _ranges(positions):
            offset = self._first_offset(contig, int(positions[first]), int(positions[end - 1]) + 1)
            if offset is not None:
                for number, line in self._lines(contig, offset, positions[first:end]):
                    yield first + number, line

    def _first_offset(self, contig: str, start: int, end: int) -> int | None:
        """Return a virtual offset before all records that overlap an interval; None without any."""
        intervals = Intervals(
            len(self.contigs),
            np.array([self.contigs[contig]]),
            np.array([0, 1]),
            np.array([start]),
            np.array([end]),
        )
        try:
            chunks = self._index.chunks(intervals, are_checked=False)
        except ValueError as error:
            raise self._mismatch(str(error)) from error
        return int(chunks[:, 0].min()) if chunks.size else None

    def _lines(
        self, contig: str, offset: int, positions: NDArray[np.int64]
    ) -> Iterator[tuple[int, str]]:
        """Yield records from an offset on; a record of the contig starts there."""
        name = np.frombuffer(f"{contig}\t".encode(), dtype=np.uint8)
        rest, is_first = b"", True
        for block in self._blocks(offset, contig):
            text = rest + block
            end = text.rfind(b"\n") + 1 if block else len(text)
            rest = text[end:]
            data = np.frombuffer(text[:end], dtype=np.uint8)
            rows = np.empty((data.size // name.size, 3), dtype=np.int64)
            state, count = _find_lines(data, name, read_only(positions), rows)
            if is_first and data.size and text[: name.size] != name.tobytes():
                raise self._mismatch(f"no record of {contig} at its offset")
            is_first = is_first and not data.size
            for start, stop, number in rows[:count].tolist():
                yield number, text[start:stop].decode("latin-1")
            if state != _ALL:
                return

    def _blocks(self, offset: int, contig: str) -> Iterator[bytes]:
        """Yield the text from a virtual offset on, and an empty block at the end of the file."""
        try:
            with silent_htslib():
                self._file.seek(offset)
            block = b" "
            while block:
                with silent_htslib():
                    block = self._file.read(_READ_BYTES)
                yield block
        except OSError as error:
            with suppress(OSError):  # pysam raises it again
                self._file.close()
            raise InputError(
                f"{self._path}: damaged in the records of {contig}; copy it again, then run:"
                f" tabix -f -p vcf {self._path}"
            ) from error


def _bins_of(data: bytes) -> BinIndex:
    """Return the bins of TBI or CSI; those of TBI are written as in BAI, after the names."""
    if data.startswith(_TABIX_MAGIC):
        (names,) = struct.unpack_from("<i", data, _NAMES_BYTES)
        data = b"BAI\1" + data[4:8] + data[_TABIX_HEAD + max(names, 0) :]
    return BinIndex(data)


def _ranges(positions: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return ranges of rows, start and end, without a large gap between their positions."""
    cuts = np.flatnonzero(np.diff(positions) > _MAX_GAP) + 1
    return list(pairwise([0, *cuts.tolist(), positions.size]))


@njit
def _find_lines(
    text: NDArray[np.uint8],
    contig: NDArray[np.uint8],
    positions: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> tuple[int, int]:
    """Write start, end and number of the position of each line that starts at one.

    `contig` ends with a tab. Returns the state, and the number of rows.
    """
    count, number, at = 0, 0, np.int64(0)
    while at < text.size:
        start = at
        while at < text.size and text[at] != _NEWLINE:
            at += 1
        end = at
        at += 1
        if not _has_contig(text, start, end, contig):
            return _OTHER_CONTIG, count
        position = _position(text, start + contig.size, end)
        while number < positions.size and positions[number] < position:
            number += 1
        if number == positions.size:
            return _PASSED, count
        if positions[number] == position:
            rows[count, 0], rows[count, 1], rows[count, 2] = start, end, number
            count += 1
    return _ALL, count


@njit_inlined
def _has_contig(
    text: NDArray[np.uint8], start: Integer, end: Integer, contig: NDArray[np.uint8]
) -> bool:
    if end - start < contig.size:
        return False
    same = np.int64(0)
    while same < contig.size and text[start + same] == contig[same]:
        same += 1
    return bool(same == contig.size)


@njit_inlined
def _position(text: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return the 0-based position in a column; -1 for other text."""
    position, at = np.int64(0), start
    while at < end and _ZERO <= text[at] <= _NINE and at < start + 10:
        position = 10 * position + (text[at] - _ZERO)
        at += 1
    return position - 1 if at < end and text[at] == _TAB else np.int64(_UNKNOWN)
