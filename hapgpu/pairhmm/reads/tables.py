"""Likelihoods of aligned reads as text: a line per pair, or a matrix of reads and haplotypes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.text.builder import TextBuilder, put_all, put_byte, put_two
from hapgpu.io.text.columns import put_row
from hapgpu.io.text.decimals import put_decimal
from hapgpu.io.text.fields import text_of
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _ZERO = b"\t\n0"
_MISSING: Final = text_of("\tNA")
_LINE_BYTES: Final = 100
_NAME_BYTES: Final = 50
_VALUE_BYTES: Final = 14
"""Bytes of a line per pair; of read and mate, and of a value, in a matrix: expected."""


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
        self._build = TextBuilder(_LINE_BYTES)

    def lines(self, scored: HostLikelihoods) -> NDArray[np.uint8]:
        """Return uint8 text: the lines of some reads."""
        pairs = scored.pairs
        write = partial(
            _put_pairs,
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(pairs.haplotypes, pairs.offsets)),
            view_of(self.labels),
            scored.likelihoods,
        )
        return self._build(len(pairs), write)


class MatrixTable(Table):
    """A line per read: read, mate, and a column for each haplotype of the file.

    Haplotypes that are not paired with the read have `NA`.
    """

    def __init__(self, haplotypes: HaplotypeSet) -> None:
        self.header = "\t".join(["read", "mate", *haplotypes.names]).encode() + b"\n"
        self.labels = Ragged.from_sequences([])
        self.columns = len(haplotypes)
        self._build = TextBuilder(_NAME_BYTES + _VALUE_BYTES * self.columns)

    def lines(self, scored: HostLikelihoods) -> NDArray[np.uint8]:
        """Return uint8 text: the lines of some reads."""
        pairs = scored.pairs
        write = partial(
            _put_matrix,
            view_of(scored.names),
            scored.mates,
            view_of(Ragged(pairs.haplotypes, pairs.offsets)),
            self.columns,
            scored.likelihoods,
        )
        return self._build(len(scored.names), write)


@njit
def _put_read(
    text: Memory, at: Integer, names: RaggedView, mates: NDArray[np.uint8], read: int
) -> Integer:
    at = put_row(text, at, names, read)
    return put_two(text, at, _TAB, _ZERO + mates[read])


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
    text = memory_of(out)
    at: Integer = np.int64(0)
    for read in range(mates.size):
        for row in range(pairs.offsets[read], pairs.offsets[read + 1]):
            at = _put_read(text, at, names, mates, read)
            at = put_row(text, at, labels, pairs.data[row])
            at = put_decimal(text, put_byte(text, at, _TAB), likelihoods[row])
            at = put_byte(text, at, _NEWLINE)
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
    text = memory_of(out)
    at: Integer = np.int64(0)
    for read in range(mates.size):
        at = _put_read(text, at, names, mates, read)
        row, end = pairs.offsets[read], pairs.offsets[read + 1]
        for column in range(columns):
            if row < end and pairs.data[row] == column:
                at = put_decimal(text, put_byte(text, at, _TAB), likelihoods[row])
                row += 1
            else:
                at = put_all(text, at, memory_of(_MISSING))
        at = put_byte(text, at, _NEWLINE)
    return at
