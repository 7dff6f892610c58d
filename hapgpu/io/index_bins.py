"""The bins of BAI and CSI indexes: which chunks of a BAM file may hold the records of intervals."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import offsets_of
from hapgpu.io.byte_access import Integer, load_i32, load_u32
from hapgpu.io.overlap import Intervals
from hapgpu.jit import njit
from hapgpu.rows import read_only

_BAI_MAGIC: Final = b"BAI\1"
_CSI_MAGIC: Final = b"CSI\1"
_MAX_BINNED_BITS: Final = 62
_LEAST_REFERENCE_BYTES: Final = 4
_BAI_HEAD, _CSI_HEAD = 8, 16
_CHUNK_BYTES: Final = 16
_OFFSET_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Binning:
    """The tree of bins: leaves of 2**min_shift bases, and `depth` levels of parents of eight."""

    min_shift: int
    depth: int

    @property
    def bits(self) -> int:
        """How many bits a position has at most."""
        return self.min_shift + 3 * self.depth

    def first(self, level: int) -> int:
        """Return the number of the first bin of a level; that of the root is 0."""
        return int((8**level - 1) // 7)


class _Columns(NamedTuple):
    """An index as it is read: b bins, c chunks and l linear offsets of r references.

    Attributes
    ----------
    bin_offsets, linear_offsets
        int64[r + 1]: where those of each reference begin.
    numbers, floors
        int64[b].
    chunk_offsets
        int64[b + 1]: where the chunks of each bin begin.
    chunks
        int64[c, 2].
    linear
        int64[l].
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
        """Make room for what an index of so many bytes may hold."""
        bins = size // _BAI_HEAD
        return cls(
            bin_offsets=np.zeros(references + 1, dtype=np.int64),
            linear_offsets=np.zeros(references + 1, dtype=np.int64),
            numbers=np.empty(bins, dtype=np.int64),
            floors=np.zeros(bins, dtype=np.int64),
            chunk_offsets=np.zeros(bins + 1, dtype=np.int64),
            chunks=np.empty((size // _CHUNK_BYTES, 2), dtype=np.int64),
            linear=np.empty(size // _OFFSET_BYTES, dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class _Bins:
    """The bins of one reference sequence.

    Attributes
    ----------
    numbers
        int64[b], ascending.
    floors
        int64[b], in CSI: no record that overlaps the bin begins before this virtual offset.
    chunk_starts, chunk_counts
        int64[b]: the rows of `chunks` of each bin.
    chunks
        int64[c, 2]: virtual offsets of begin and end, of all references.
    linear
        int64[l], in BAI: the floors of leaves.
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
        """int64[n, 2]: the chunks that may hold records overlapping sorted, disjoint intervals."""
        first, last = _runs(binning, starts, ends)
        lows, highs = [], []
        for level in range(binning.depth + 1):
            shift = 3 * (binning.depth - level)
            begin = binning.first(level)
            lows.append(np.searchsorted(self.numbers, begin + (first >> shift)))
            highs.append(np.searchsorted(self.numbers, begin + (last >> shift), side="right"))
        low, counts = np.concatenate(lows), np.concatenate(highs) - np.concatenate(lows)
        bins, runs = _spread(low, counts), np.repeat(np.arange(low.size) % first.size, counts)
        rows = _spread(self.chunk_starts[bins], self.chunk_counts[bins])
        runs = np.repeat(runs, self.chunk_counts[bins])
        chunks = self.chunks[rows]
        floors, ceilings = self._floors(binning, first), self._ceilings(binning, last)
        return chunks[(chunks[:, 1] > floors[runs]) & (chunks[:, 0] < ceilings[runs])]

    def _floors(self, binning: Binning, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each leaf an offset before which no record that overlaps it begins."""
        if self.linear.size:
            return self.linear[np.minimum(leaves, self.linear.size - 1)]
        floors = np.zeros(leaves.size, dtype=np.int64)
        for level in range(binning.depth + 1):  # the smallest bin that there is tells most
            sought = binning.first(level) + (leaves >> 3 * (binning.depth - level))
            place = np.minimum(np.searchsorted(self.numbers, sought), self.numbers.size - 1)
            floors = np.where(self.numbers[place] == sought, self.floors[place], floors)
        return floors

    def _ceilings(self, binning: Binning, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each leaf an offset from which on all records begin behind it."""
        behind = binning.first(binning.depth + 1)
        begin = binning.first(binning.depth)
        place = np.searchsorted(self.numbers, begin + leaves, side="right")
        next_place = np.minimum(place, self.numbers.size - 1)
        is_leaf = (place < self.numbers.size) & (self.numbers[next_place] < behind)
        is_leaf &= self.chunk_counts[next_place] > 0
        starts = np.where(is_leaf, self.chunk_starts[next_place], 0)
        return np.where(is_leaf, self.chunks[starts, 0], np.iinfo(np.int64).max)


class BinIndex:
    """A BAI or CSI index; safe to use from several threads.

    Parameters
    ----------
    data
        The content of the index, inflated.

    Raises
    ------
    ValueError
        It is damaged, or no such index.
    struct.error
        It is cut short.
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
        if not 0 <= self._references <= len(data) // _LEAST_REFERENCE_BYTES:
            raise ValueError("impossible number of references")
        columns = _Columns.empty(len(data), self._references)
        text = read_only(np.frombuffer(data, dtype=np.uint8))
        if not _read(text, at + 4, _CSI_HEAD if is_csi else _BAI_HEAD, columns):
            raise ValueError("cut short, or a negative number")
        self._columns = _compact(columns)

    def chunks(self, intervals: Intervals) -> NDArray[np.int64]:
        """int64[n, 2]: virtual offsets of chunks that hold all records overlapping intervals."""
        found = [np.empty((0, 2), dtype=np.int64)]
        references = min(self._references, intervals.offsets.size - 1)
        for reference in np.flatnonzero(np.diff(intervals.offsets[: references + 1])).tolist():
            bins = self._bins(reference)
            if bins.numbers.size:
                wanted = slice(*intervals.offsets[reference : reference + 2])
                starts, ends = intervals.starts[wanted], intervals.ends[wanted]
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
    """Return the first and the last leaf of runs of leaves that sorted intervals meet."""
    limit = 1 << binning.bits
    inside = starts < limit
    first = starts[inside] >> binning.min_shift
    last = (np.minimum(ends[inside], limit) - 1) >> binning.min_shift
    is_apart = first[1:] > last[:-1] + 1
    edge = np.ones(min(first.size, 1), dtype=np.bool_)
    return first[np.concatenate([edge, is_apart])], last[np.concatenate([is_apart, edge])]


def _spread(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `starts[0]` and the numbers behind it, `counts[0]` of them, and so on."""
    offsets = offsets_of(counts)
    return np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])


def _compact(columns: _Columns) -> _Columns:
    """Let go of the room that was not needed."""
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
    """Read a count; -1 if there is none."""
    return max(load_i32(data, at), -1) if at + 4 <= data.size else -1


@njit
def _read_chunks(
    data: NDArray[np.uint8], at: Integer, count: Integer, row: Integer, chunks: NDArray[np.int64]
) -> bool:
    """Fill in chunks from a row on; False if they are none."""
    if count < 0 or count > (data.size - at) // _CHUNK_BYTES:
        return False
    for k in range(count):
        begin = _load_i64(data, at + _CHUNK_BYTES * k)
        end = _load_i64(data, at + _CHUNK_BYTES * k + _OFFSET_BYTES)
        if begin < 0 or end < 0:
            return False
        chunks[row + k, 0], chunks[row + k, 1] = begin, end
    return True


@njit
def _read_bins(
    data: NDArray[np.uint8], at: Integer, head: Integer, row: Integer, out: _Columns
) -> tuple[Integer, Integer]:
    """Fill in the bins of a reference from a row on; return what lies behind, the place -1 if bad.

    A bin has a head of 8 bytes, in CSI of 16: its number, in CSI its floor, and how many chunks.
    """
    numbers, floors, offsets, chunks = out.numbers, out.floors, out.chunk_offsets, out.chunks
    count = _count_at(data, at)
    at += 4
    for _ in range(count):
        own = _count_at(data, at + head - 4)
        if own < 0 or not _read_chunks(data, at + head, own, offsets[row], chunks):
            return -1, row
        numbers[row] = load_u32(data, at)
        if head == _CSI_HEAD:
            floors[row] = _load_i64(data, at + 4)
        offsets[row + 1] = offsets[row] + own
        at += head + _CHUNK_BYTES * own
        row += 1
    return (at if count >= 0 else -1), row


@njit
def _read_linear(
    data: NDArray[np.uint8], at: Integer, row: Integer, linear: NDArray[np.int64]
) -> tuple[Integer, Integer]:
    """Fill in the floors of leaves from a row on; return what lies behind, the place -1 if bad."""
    count = _count_at(data, at)
    at += 4
    if count < 0 or count > (data.size - at) // _OFFSET_BYTES:
        return -1, row
    for k in range(count):
        linear[row + k] = _load_i64(data, at + _OFFSET_BYTES * k)
    return at + _OFFSET_BYTES * count, row + count


@njit
def _read(data: NDArray[np.uint8], at: Integer, head: Integer, out: _Columns) -> bool:
    """Fill in the columns; False if the index is damaged."""
    bins: Integer = np.int64(0)
    leaves: Integer = np.int64(0)
    for reference in range(out.bin_offsets.size - 1):
        at, bins = _read_bins(data, at, head, bins, out)
        if at >= 0 and head != _CSI_HEAD:
            at, leaves = _read_linear(data, at, leaves, out.linear)
        if at < 0:
            return False
        out.bin_offsets[reference + 1], out.linear_offsets[reference + 1] = bins, leaves
    return True
