"""Bins of BAI and CSI indexes: the chunks of a BAM file that may hold records of intervals."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u32
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.alignments.index_checks import ReferenceBins, check_bins
from hapgpu.io.bam.overlap import Intervals
from hapgpu.runtime.jit import njit

_BAI_MAGIC: Final = b"BAI\1"
_CSI_MAGIC: Final = b"CSI\1"
_MAX_BINNED_BITS: Final = 62
_MIN_REFERENCE_BYTES: Final = 4
_PSEUDO_CHUNKS: Final = 2
_MAX_TRAILING_BYTES: Final = 1 << 17

BAI_HEAD: Final = 8
CSI_HEAD: Final = 16
"""Bytes of a bin before its chunks."""
OFFSET_BYTES: Final = 8
_CHUNK_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Binning:
    """Tree of bins: leaves of 2**min_shift bases, and `depth` levels of parents of eight bins."""

    min_shift: int
    depth: int

    @property
    def bits(self) -> int:
        """Maximum number of bits of a position."""
        return self.min_shift + 3 * self.depth

    def leaves_of(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return int64[b] each: the first leaf below each of the bins, and the end of its leaves.

        `numbers`, int64[b], are those of the bins, ascending.
        """
        tops = np.array([self.first(level) for level in range(self.depth + 1)], dtype=np.int64)
        levels = np.searchsorted(tops, numbers, side="right") - 1
        shifts = 3 * (self.depth - levels)
        indexes = numbers - tops[levels]
        return indexes << shifts, (indexes + 1) << shifts

    def first(self, level: int) -> int:
        """Return the number of the first bin of a level; the root has number 0."""
        return int((8**level - 1) // 7)


@dataclass(frozen=True, slots=True)
class _Bins:
    """Bins of one contig.

    Attributes
    ----------
    numbers
        int64[b], ascending.
    floors
        int64[b], in CSI: no record that overlaps the bin starts before this virtual offset.
    chunk_starts, chunk_counts
        int64[b]: the rows of `chunks` of each bin.
    chunks
        int64[c, 2]: virtual offsets of start and end, for all contigs.
    linear
        int64[l], in BAI: the floors of the leaves.
    """

    numbers: NDArray[np.int64]
    floors: NDArray[np.int64]
    chunk_starts: NDArray[np.int64]
    chunk_counts: NDArray[np.int64]
    chunks: NDArray[np.int64]
    linear: NDArray[np.int64]

    def overlapping(
        self, binning: Binning, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return int64[n, 2]: chunks that may hold records of sorted, disjoint intervals."""
        first, last = _runs(binning, starts, ends)
        lows, highs = [], []
        for level in range(binning.depth + 1):
            shift = 3 * (binning.depth - level)
            start = binning.first(level)
            lows.append(np.searchsorted(self.numbers, start + (first >> shift)))
            highs.append(np.searchsorted(self.numbers, start + (last >> shift), side="right"))
        low, counts = np.concatenate(lows), np.concatenate(highs) - np.concatenate(lows)
        bins, runs = _ranges(low, counts), np.repeat(np.arange(low.size) % first.size, counts)
        rows = _ranges(self.chunk_starts[bins], self.chunk_counts[bins])
        runs = np.repeat(runs, self.chunk_counts[bins])
        chunks = self.chunks[rows]
        # The floors of leaves may be floors of mapped reads only (see `bin_checks`): unmapped reads
        # come directly before. The previous leaf makes one damaged floor harmless, as floors rise.
        floors = self._floors(binning, np.maximum(first - 1, 0))
        ceilings = self._ceilings(binning, last)
        return chunks[(chunks[:, 1] >= floors[runs]) & (chunks[:, 0] < ceilings[runs])]

    def of_records(self, binning: Binning) -> ReferenceBins:
        """Return the columns that `check_bins` compares.

        Raises
        ------
        ValueError
            A number is neither of a bin of the tree nor of the pseudo-bin.
        """
        bin_end = binning.first(binning.depth + 1)
        own = slice(int(np.searchsorted(self.numbers, bin_end)))
        numbers, counts = self.numbers[own], self.chunk_counts[own]
        firsts, ends = binning.leaves_of(numbers)
        return ReferenceBins(
            numbers,
            counts,
            self.chunks[_ranges(self.chunk_starts[own], counts)],
            firsts,
            ends,
            self.floors[own],
            self.linear,
            self._record_range(bin_end + 1),
            binning.first(binning.depth) - 1,
        )

    def _record_range(self, pseudo_bin: int) -> tuple[int, int] | None:
        """Return start and end of the records: the first chunk of the pseudo-bin, if any."""
        row = int(np.searchsorted(self.numbers, pseudo_bin - 1))
        others = self.numbers[row:].tolist()
        if not others:
            return None
        if others != [pseudo_bin] or self.chunk_counts[row] != _PSEUDO_CHUNKS:
            raise ValueError("impossible bins")
        start, end = self.chunks[self.chunk_starts[row]].tolist()
        return start, end

    def _floors(self, binning: Binning, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each leaf an offset before which no record that overlaps it starts."""
        if self.linear.size:
            return self.linear[np.minimum(leaves, self.linear.size - 1)]
        floors = np.zeros(leaves.size, dtype=np.int64)
        for level in range(binning.depth + 1):  # the smallest existing bin has the highest floor
            sought = binning.first(level) + (leaves >> 3 * (binning.depth - level))
            row = np.minimum(np.searchsorted(self.numbers, sought), self.numbers.size - 1)
            floors = np.where(self.numbers[row] == sought, self.floors[row], floors)
        return floors

    def _ceilings(self, binning: Binning, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each leaf an offset from which on all records start after the leaf."""
        bin_end = binning.first(binning.depth + 1)
        first_leaf = binning.first(binning.depth)
        row = np.searchsorted(self.numbers, first_leaf + leaves, side="right")
        next_row = np.minimum(row, self.numbers.size - 1)
        is_leaf = (row < self.numbers.size) & (self.numbers[next_row] < bin_end)
        is_leaf &= self.chunk_counts[next_row] > 0
        starts = np.where(is_leaf, self.chunk_starts[next_row], 0)
        return np.where(is_leaf, self.chunks[starts, 0], np.iinfo(np.int64).max)


class BinIndex:
    """BAI or CSI index; safe to use from several threads.

    Parameters
    ----------
    data
        The content of the index, inflated.

    Raises
    ------
    ValueError
        It is damaged, or neither BAI nor CSI.
    struct.error
        It is truncated.
    """

    def __init__(self, data: bytes) -> None:
        is_csi = data[:4] == _CSI_MAGIC
        if not is_csi and data[:4] != _BAI_MAGIC:
            raise ValueError("neither BAI nor CSI")
        at = 4
        self._binning = Binning(14, 5)
        if is_csi:
            min_shift, depth, more = struct.unpack_from("<iii", data, at)
            self._binning = Binning(min_shift, depth)
            at += 12 + more
            if min(min_shift, depth, more) < 0 or self._binning.bits > _MAX_BINNED_BITS:
                raise ValueError("impossible bins")
        (self._references,) = struct.unpack_from("<i", data, at)
        if not 0 <= self._references <= len(data) // _MIN_REFERENCE_BYTES:
            raise ValueError("impossible number of references")
        columns = IndexColumns.empty(len(data), self._references)
        text = read_only(np.frombuffer(data, dtype=np.uint8))
        end = read_columns(text, at + 4, CSI_HEAD if is_csi else BAI_HEAD, columns)
        if end < 0:
            raise ValueError("truncated, or a negative number")
        if len(data) - end not in (0, OFFSET_BYTES):  # the number of reads without a position
            raise ValueError("too long")
        self._columns = compact(columns)
        self._end = int(self._columns.chunks[:, 1].max(initial=0)) >> 16
        self._has_only_placed = data[end:] == bytes(OFFSET_BYTES)
        self._checked: set[int] = set()

    def may_be_of(self, size: int) -> bool:
        """Tell whether a file of `size` bytes can end where the records of this index end.

        If the file has no reads without a position, only the last block of the records and empty
        blocks may follow. A file without records has only its header, of any size.
        """
        rest = size - self._end
        has_end = self._has_only_placed and self._columns.chunks.size > 0
        return rest >= 0 and (rest <= _MAX_TRAILING_BYTES or not has_end)

    def check_contigs(self, contigs: int) -> None:
        """Make sure that a file of so many contigs can have this index.

        Raises
        ------
        ValueError
            The index has more contigs.
        """
        if self._references > contigs:
            raise ValueError("more contigs than the file has")

    def contigs(self) -> NDArray[np.int64]:
        """Return int64[c]: the numbers of the contigs with records, ascending.

        The pseudo-bin holds no records: some programs write it for each contig.
        """
        columns = self._columns
        pseudo_bin = self._binning.first(self._binning.depth + 1) + 1
        before = np.concatenate(([0], np.cumsum(columns.numbers != pseudo_bin)))
        return np.flatnonzero(np.diff(before[columns.bin_offsets]))

    def chunks(self, intervals: Intervals, *, are_checked: bool = True) -> NDArray[np.int64]:
        """Return int64[n, 2]: virtual offsets of chunks with all records that overlap intervals.

        `are_checked` tells whether bins are checked as those of reads.
        """
        self.check_contigs(intervals.contigs)
        found = [np.empty((0, 2), dtype=np.int64)]
        for row, reference in enumerate(intervals.references.tolist()):
            if reference >= self._references:
                break
            bins = self._bins(reference)
            if are_checked and reference not in self._checked:
                check_bins(bins.of_records(self._binning))
                self._checked.add(reference)
            if bins.numbers.size:
                rows = slice(*intervals.offsets[row : row + 2])
                starts, ends = intervals.starts[rows], intervals.ends[rows]
                found.append(bins.overlapping(self._binning, starts, ends))
        return np.concatenate(found)

    def _bins(self, reference: int) -> _Bins:
        columns = self._columns
        bins = slice(*columns.bin_offsets[reference : reference + 2])
        order = np.argsort(columns.numbers[bins], kind="stable")
        starts = columns.chunk_offsets[bins][order]
        ends = columns.chunk_offsets[1:][bins][order]
        linear = slice(*columns.linear_offsets[reference : reference + 2])
        return _Bins(
            columns.numbers[bins][order],
            columns.floors[bins][order],
            starts,
            ends - starts,
            columns.chunks,
            columns.linear[linear],
        )


def _runs(
    binning: Binning, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last leaf of each run of leaves that sorted intervals overlap."""
    limit = 1 << binning.bits
    inside = starts < limit
    first = starts[inside] >> binning.min_shift
    last = (np.minimum(ends[inside], limit) - 1) >> binning.min_shift
    is_apart = first[1:] > last[:-1] + 1
    edge = np.ones(min(first.size, 1), dtype=np.bool_)
    return first[np.concatenate([edge, is_apart])], last[np.concatenate([is_apart, edge])]


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranges of `counts` numbers from `starts` on, end to end."""
    offsets = offsets_of(counts)
    return np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])


class IndexColumns(NamedTuple):
    """Columns of an index in file order: b bins, c chunks and l linear offsets of r contigs.

    Attributes
    ----------
    bin_offsets, linear_offsets
        int64[r + 1]: the first bin and the first linear offset of each contig.
    numbers, floors
        int64[b]: number and floor of each bin.
    chunk_offsets
        int64[b + 1]: the first chunk of each bin.
    chunks
        int64[c, 2]: virtual offsets of start and end.
    linear
        int64[l]: the linear index.
    """

    bin_offsets: NDArray[np.int64]
    linear_offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    floors: NDArray[np.int64]
    chunk_offsets: NDArray[np.int64]
    chunks: NDArray[np.int64]
    linear: NDArray[np.int64]

    @classmethod
    def empty(cls, size: int, references: int) -> Self:
        """Allocate the columns for an index of `size` bytes."""
        bins = size // BAI_HEAD
        return cls(
            bin_offsets=np.zeros(references + 1, dtype=np.int64),
            linear_offsets=np.zeros(references + 1, dtype=np.int64),
            numbers=np.empty(bins, dtype=np.int64),
            floors=np.zeros(bins, dtype=np.int64),
            chunk_offsets=np.zeros(bins + 1, dtype=np.int64),
            chunks=np.empty((size // _CHUNK_BYTES, 2), dtype=np.int64),
            linear=np.empty(size // OFFSET_BYTES, dtype=np.int64),
        )


def compact(columns: IndexColumns) -> IndexColumns:
    """Copy the columns to arrays without unused room."""
    bins, linear = int(columns.bin_offsets[-1]), int(columns.linear_offsets[-1])
    return columns._replace(
        numbers=columns.numbers[:bins].copy(),
        floors=columns.floors[:bins].copy(),
        chunk_offsets=columns.chunk_offsets[: bins + 1].copy(),
        chunks=columns.chunks[: columns.chunk_offsets[bins]].copy(),
        linear=columns.linear[:linear].copy(),
    )


@njit
def _load_i64(data: NDArray[np.uint8], at: Integer) -> Integer:
    return load_u32(data, at) | load_i32(data, at + 4) << 32


@njit
def _count_at(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Read a count; -1 if it is negative or missing."""
    return max(load_i32(data, at), -1) if at + 4 <= data.size else -1


@njit
def _read_chunks(
    data: NDArray[np.uint8], at: Integer, count: Integer, row: Integer, chunks: NDArray[np.int64]
) -> bool:
    """Fill in chunks from a row on; return False if they are malformed."""
    if count < 0 or count > (data.size - at) // _CHUNK_BYTES:
        return False
    for k in range(count):
        start = _load_i64(data, at + _CHUNK_BYTES * k)
        end = _load_i64(data, at + _CHUNK_BYTES * k + OFFSET_BYTES)
        if start < 0 or end < 0:
            return False
        chunks[row + k, 0], chunks[row + k, 1] = start, end
    return True


@njit
def _read_bins(
    data: NDArray[np.uint8], at: Integer, head: Integer, row: Integer, out: IndexColumns
) -> tuple[Integer, Integer]:
    """Fill in the bins of a contig from a row on; return the next offset (-1 if bad) and row.

    A bin has a head of 8 bytes, in CSI of 16: its number, in CSI its floor, and its chunk count.
    """
    numbers, floors, offsets, chunks = out.numbers, out.floors, out.chunk_offsets, out.chunks
    count = _count_at(data, at)
    at += 4
    for _ in range(count):
        own = _count_at(data, at + head - 4)
        if own < 0 or not _read_chunks(data, at + head, own, offsets[row], chunks):
            return -1, row
        numbers[row] = load_u32(data, at)
        if head == CSI_HEAD:
            floors[row] = _load_i64(data, at + 4)
        offsets[row + 1] = offsets[row] + own
        at += head + _CHUNK_BYTES * own
        row += 1
    return (at if count >= 0 else -1), row


@njit
def _read_linear(
    data: NDArray[np.uint8], at: Integer, row: Integer, linear: NDArray[np.int64]
) -> tuple[Integer, Integer]:
    """Fill in the floors of leaves from a row on; return the next offset (-1 if bad) and row."""
    count = _count_at(data, at)
    at += 4
    if count < 0 or count > (data.size - at) // OFFSET_BYTES:
        return -1, row
    for k in range(count):
        linear[row + k] = _load_i64(data, at + OFFSET_BYTES * k)
    return at + OFFSET_BYTES * count, row + count


@njit
def read_columns(data: NDArray[np.uint8], at: Integer, head: Integer, out: IndexColumns) -> Integer:
    """Fill in the columns of `data`, uint8; return the end offset, -1 if the index is damaged."""
    bins: Integer = np.int64(0)
    leaves: Integer = np.int64(0)
    for reference in range(out.bin_offsets.size - 1):
        at, bins = _read_bins(data, at, head, bins, out)
        if at >= 0 and head != CSI_HEAD:
            at, leaves = _read_linear(data, at, leaves, out.linear)
        if at < 0:
            return at
        out.bin_offsets[reference + 1], out.linear_offsets[reference + 1] = bins, leaves
    return at
