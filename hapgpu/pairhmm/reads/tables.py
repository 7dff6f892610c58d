"""Likelihoods of aligned reads as text: a line per pair, or a matrix of reads and haplotypes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.text.decimals import DECIMAL_WIDTH, put_decimal
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _ZERO = b"\t\n0"
_MISSING: Final = np.frombuffer(b"\tNA", dtype=np.uint8)
_READ_TEXT: Final = 2  # a tab and the mate
_VALUE_TEXT: Final = 2 + DECIMAL_WIDTH  # between a tab and a newline


@dataclass(frozen=True, slots=True)
class HostLikelihoods:
    """n reads with their likelihoods, in input order.

    Attributes
    ----------
    names
        uint8 text, n rows.
    mates
        uint8[n]: 1 or 2, or 0 for reads that are not paired or whose flags do not say.
    pairs
        The haplotypes paired with each read, at least one.
    likelihoods
        float64[pairs], log10.
    """

    names: Ragged
    mates: NDArray[np.uint8]
    pairs: ReadHaplotypePairs
    likelihoods: NDArray[np.float64]


class Table(ABC):
    """Format of a table of likelihoods.

    Attributes
    ----------
    header
        The first line.
    labels
        uint8 text, a row per haplotype: what a line has between the read and the likelihood; no
        rows in a matrix.
    columns
        Columns of a matrix, one per haplotype; else 0.
    """

    header: bytes
    labels: Ragged
    columns: int

    @abstractmethod
    def lines(self, scored: HostLikelihoods) -> NDArray[np.uint8]:
        """Return the lines of reads, uint8 text, in the order of the reads."""


class PairTable(Table):
    """A line per pair: read, mate, locus, haplotype, likelihood.

    The locus is written as in samtools, `chr20:101-500`, or as a dot without a locus.
    """

    header = b"read\tmate\tlocus\thaplotype\tlog10_likelihood\n"

    def __init__(self, haplotypes: HaplotypeSet) -> None:
        loci = [*map(str, haplotypes.loci), "."]  # the last for index -1
        self.labels = Ragged.from_sequences(
            f"\t{loci[k]}\t{name}".encode()
            for k, name in zip(haplotypes.locus_index.tolist(), haplotypes.names, strict=True)
        )
        self.columns = 0

    def lines(self, scored: HostLikelihoods) -> NDArray[np.uint8]:
        """Return the lines of some reads."""
        pairs = scored.pairs
        names = np.repeat(scored.names.lengths, pairs.counts)
        labels = self.labels.lengths_of(pairs.haplotypes)
        size = int((names + labels).sum()) + len(pairs) * (_READ_TEXT + _VALUE_TEXT)
        out = np.empty(size, dtype=np.uint8)
        end = _put_pairs(
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(pairs.haplotypes, pairs.offsets)),
            view_of(self.labels),
            scored.likelihoods,
            out,
        )
        return out[:end]


class MatrixTable(Table):
    """A line per read: read, mate, and a column for each haplotype of the file.

    Haplotypes that are not paired with the read have `NA`.
    """

    def __init__(self, haplotypes: HaplotypeSet) -> None:
        self.header = "\t".join(["read", "mate", *haplotypes.names]).encode() + b"\n"
        self.labels = Ragged.from_sequences([])
        self.columns = len(haplotypes)

    def lines(self, scored: HostLikelihoods) -> NDArray[np.uint8]:
        """Return the lines of some reads."""
        pairs = scored.pairs
        rows = len(scored.names) * (_READ_TEXT + 1 + _MISSING.size * self.columns)
        size = scored.names.data.size + rows + len(pairs) * _VALUE_TEXT
        out = np.empty(size, dtype=np.uint8)
        end = _put_matrix(
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(pairs.haplotypes, pairs.offsets)),
            self.columns,
            scored.likelihoods,
            out,
        )
        return out[:end]


@njit
def _put_row(rows: RaggedView, row: Integer, out: NDArray[np.uint8], at: Integer) -> Integer:
    start, end = rows.offsets[row], rows.offsets[row + 1]
    copy_bytes(rows.data, start, out, at, end - start)
    return np.int64(at + end - start)


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
    pairs: RaggedView,
    labels: RaggedView,
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write a line per pair; return the end of the text."""
    at: Integer = np.int64(0)
    for read in range(mates.size):
        for row in range(pairs.offsets[read], pairs.offsets[read + 1]):
            at = _put_read(names, mates, read, out, at)
            at = _put_row(labels, pairs.data[row], out, at)
            out[at] = _TAB
            at = put_decimal(out, at + 1, likelihoods[row])
            out[at] = _NEWLINE
            at += 1
    return at


@njit
def _put_matrix(
    names: RaggedView,
    mates: NDArray[np.uint8],
    pairs: RaggedView,
    columns: int,
    likelihoods: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write a line per read; return the end of the text."""
    at: Integer = np.int64(0)
    for read in range(mates.size):
        at = _put_read(names, mates, read, out, at)
        row, end = pairs.offsets[read], pairs.offsets[read + 1]
        for column in range(columns):
            if row < end and pairs.data[row] == column:
                out[at] = _TAB
                at = put_decimal(out, at + 1, likelihoods[row])
                row += 1
            else:
                copy_bytes(_MISSING, 0, out, at, _MISSING.size)
                at += _MISSING.size
        out[at] = _NEWLINE
        at += 1
    return at
