"""Likelihoods of aligned reads as text: a row per pair, or a matrix of reads and haplotypes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.text.decimals import DECIMAL_WIDTH, put_decimal
from hapgpu.pairhmm.reads.scorer import Scored
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _ZERO = b"\t\n0"
_MISSING: Final = np.frombuffer(b"\tNA", dtype=np.uint8)
_READ_TEXT: Final = 2  # a tab and the mate
_VALUE_TEXT: Final = 2 + DECIMAL_WIDTH  # between a tab and a newline


class Table(ABC):
    """Turns scored reads into lines."""

    header: bytes
    """The first line."""

    @abstractmethod
    def lines(self, scored: Scored) -> NDArray[np.uint8]:
        """Return the lines of some reads, uint8 text, in the order of the reads."""


class PairTable(Table):
    """A line for each read and haplotype that met: read, mate, locus, haplotype, likelihood.

    The locus is written as samtools does, `chr20:101-500`, or as a dot for none.
    """

    header = b"read\tmate\tlocus\thaplotype\tlog10_likelihood\n"

    def __init__(self, haplotypes: HaplotypeSet) -> None:
        loci = [str(haplotypes.loci[k]) if k >= 0 else "." for k in haplotypes.locus_index]
        self._labels = Ragged.from_sequences(
            f"\t{locus}\t{name}".encode()
            for locus, name in zip(loci, haplotypes.names, strict=True)
        )

    def lines(self, scored: Scored) -> NDArray[np.uint8]:
        """Return the lines of some reads."""
        candidates = scored.candidates
        names = np.repeat(scored.names.lengths, candidates.counts)
        labels = self._labels.lengths_of(candidates.haplotypes)
        room = int((names + labels).sum()) + len(candidates) * (_READ_TEXT + _VALUE_TEXT)
        out = np.empty(room, dtype=np.uint8)
        end = _put_pairs(
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(candidates.haplotypes, candidates.offsets)),
            view_of(self._labels),
            scored.likelihoods,
            out,
        )
        return out[:end]


class MatrixTable(Table):
    """A line for each read: read, mate, and a column for each haplotype of the file.

    Haplotypes that a read did not meet have `NA`.
    """

    def __init__(self, haplotypes: HaplotypeSet) -> None:
        self.header = "\t".join(["read", "mate", *haplotypes.names]).encode() + b"\n"
        self._columns = len(haplotypes)

    def lines(self, scored: Scored) -> NDArray[np.uint8]:
        """Return the lines of some reads."""
        candidates = scored.candidates
        rows = len(scored.names) * (_READ_TEXT + 1 + _MISSING.size * self._columns)
        room = scored.names.data.size + rows + len(candidates) * _VALUE_TEXT
        out = np.empty(room, dtype=np.uint8)
        end = _put_matrix(
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(candidates.haplotypes, candidates.offsets)),
            self._columns,
            scored.likelihoods,
            out,
        )
        return out[:end]


@njit
def _put_row(rows: RaggedView, row: Integer, out: NDArray[np.uint8], at: Integer) -> Integer:
    begin, end = rows.offsets[row], rows.offsets[row + 1]
    copy_bytes(rows.data, begin, out, at, end - begin)
    return np.int64(at + end - begin)


@njit
def _put_read(
    names: RaggedView, mates: NDArray[np.uint8], read: int, out: NDArray[np.uint8], at: Integer
) -> Integer:
    at = _put_row(names, read, out, at)
    out[at] = _TAB
    out[at + 1] = _ZERO + mates[read]
    return at + 2


@njit
def _put_pairs(
    names: RaggedView,
    mates: NDArray[np.uint8],
    candidates: RaggedView,
    labels: RaggedView,
    values: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write a line per candidate; return the end of the text."""
    at: Integer = np.int64(0)
    for read in range(mates.size):
        for row in range(candidates.offsets[read], candidates.offsets[read + 1]):
            at = _put_read(names, mates, read, out, at)
            at = _put_row(labels, candidates.data[row], out, at)
            out[at] = _TAB
            at = put_decimal(out, at + 1, values[row])
            out[at] = _NEWLINE
            at += 1
    return at


@njit
def _put_matrix(
    names: RaggedView,
    mates: NDArray[np.uint8],
    candidates: RaggedView,
    columns: int,
    values: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write a line per read; return the end of the text."""
    at: Integer = np.int64(0)
    for read in range(mates.size):
        at = _put_read(names, mates, read, out, at)
        row, end = candidates.offsets[read], candidates.offsets[read + 1]
        for column in range(columns):
            if row < end and candidates.data[row] == column:
                out[at] = _TAB
                at = put_decimal(out, at + 1, values[row])
                row += 1
            else:
                copy_bytes(_MISSING, 0, out, at, _MISSING.size)
                at += _MISSING.size
        out[at] = _NEWLINE
        at += 1
    return at
