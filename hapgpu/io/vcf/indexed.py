"""Records of an indexed VCF by their positions."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pysam
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.beside import VCF_INDEXES, index_beside
from hapgpu.io.files.htslib import silent_htslib
from hapgpu.runtime.closeable import Closeable

logger = logging.getLogger(__name__)

_MAX_GAP: Final = 1 << 14
"""Bases between two positions that are read in one go, at most: those of a leaf of the index."""
_LINES: Final = 1000
"""Lines in memory, at most."""
_LENGTH: Final = re.compile(r"##contig=<(?:.*,)?ID=([^,>]+),(?:.*,)?length=([0-9]+)[,>]")


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
        Names of the contigs with records, by the index.

    Raises
    ------
    InputError
        There is no index, or htslib cannot read the file or the index.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._index = index_beside(Path(path), VCF_INDEXES)
        if self._index is None:
            raise InputError(f"{path}: no index; run: tabix -p vcf {path}")
        self._open()

    def _open(self) -> None:
        try:
            with silent_htslib():
                # Latin-1 keeps all bytes as they are.
                self._file = pysam.TabixFile(self._path, index=str(self._index), encoding="latin-1")
                self.contigs: Collection[str] = frozenset(self._file.contigs)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self._path}: cannot be read with {self._index} ({error}); run: tabix -f -p vcf"
                f" {self._path}"
            ) from error
        self._process = os.getpid()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def contig_lengths(self) -> Mapping[str, int]:
        """Return the lengths of the contigs that the header names with a length."""
        found = (_LENGTH.match(line) for line in self._file.header)
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
        The number of the position, and the line.

        Raises
        ------
        InputError
            The file is damaged.
        """
        if self._process != os.getpid():
            self._open()
        if not positions.size or contig not in self.contigs:
            return
        first = len(contig) + 1
        for rows in _ranges(positions):
            # A record that only overlaps the range starts at none of its positions.
            numbers = {str(positions[row] + 1): row for row in rows}
            start, end = int(positions[rows[0]]), int(positions[rows[-1]]) + 1
            for line in self._lines(contig, start, end):
                number = numbers.get(line[first : line.find("\t", first)])
                if number is not None:
                    yield number, line

    def _lines(self, contig: str, start: int, end: int) -> Iterator[str]:
        try:
            found = self._file.fetch(contig, start, end)
            more = True
            while more:
                with silent_htslib():
                    lines = list(islice(found, _LINES))
                yield from lines
                more = len(lines) == _LINES
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self._path}: damaged near {contig}:{start + 1} ({error}); copy it again, then"
                f" run: tabix -f -p vcf {self._path}"
            ) from error


def _ranges(positions: NDArray[np.int64]) -> list[range]:
    """Return ranges of rows without a large gap between their positions."""
    cuts = np.flatnonzero(np.diff(positions) > _MAX_GAP) + 1
    return [range(start, end) for start, end in pairwise([0, *cuts.tolist(), positions.size])]
