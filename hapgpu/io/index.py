"""BAI and CSI indexes: where in a BAM file the records of a region lie."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bgzf import BgzfReader, VirtualRange
from hapgpu.io.overlap import Intervals
from hapgpu.io.pool import Pool

_BAI_MAGIC: Final = b"BAI\1"
_CSI_MAGIC: Final = b"CSI\1"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_BINNED_BITS: Final = 62

_Chunks = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Binning:
    """The tree of bins: leaves of 2**min_shift bases, and `depth` levels of parents of eight."""

    min_shift: int
    depth: int

    @property
    def bits(self) -> int:
        return self.min_shift + 3 * self.depth

    def bins(self, start: int, end: int) -> Iterator[range]:
        """Yield the bins of each level, leaves first, that meet an interval."""
        for level in range(self.depth, -1, -1):
            shift = self.min_shift + 3 * (self.depth - level)
            first = (8**level - 1) // 7
            yield range(first + (start >> shift), first + ((end - 1) >> shift) + 1)


@dataclass(frozen=True, slots=True)
class _Bins:
    """The bins of one reference sequence.

    Attributes
    ----------
    chunks
        By bin: uint64[n, 2], virtual offsets of begin and end.
    floors
        By bin, in CSI: no record that overlaps the bin begins before this virtual offset.
    linear
        The same by leaf, in BAI.
    """

    chunks: dict[int, _Chunks]
    floors: dict[int, int]
    linear: NDArray[np.uint64]

    def overlapping(self, binning: _Binning, start: int, end: int) -> Iterator[_Chunks]:
        """Yield the chunks that may hold records overlapping an interval."""
        floor = self._floor(binning, start)
        for numbers in binning.bins(start, min(end, 1 << binning.bits)):
            few = numbers if len(numbers) < len(self.chunks) else self.chunks.keys()
            for number in few:
                if number in numbers and number in self.chunks:
                    chunks = self.chunks[number]
                    yield chunks[chunks[:, 1] > floor]

    def _floor(self, binning: _Binning, start: int) -> int:
        if self.linear.size:
            return int(self.linear[min(start >> binning.min_shift, self.linear.size - 1)])
        path = (numbers[0] for numbers in binning.bins(start, start + 1))
        return next((self.floors[number] for number in path if number in self.floors), 0)


class _Fields:
    """The fields of an index, one after the other; running over the end is a `struct.error`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def take_offsets(self, count: int) -> NDArray[np.uint64]:
        values = np.frombuffer(self._data, dtype="<u8", count=count, offset=self._at)
        self._at += values.nbytes
        return values

    def skip(self, count: int) -> None:
        self._at += count


def ranges_of(path: Path, intervals: Intervals) -> list[VirtualRange]:
    """Look up the stretches of a BAM file that hold all records overlapping some intervals.

    Returns
    -------
    list of VirtualRange
        In file order, none overlapping another.

    Raises
    ------
    InputError
        There is no index, or it is damaged.
    """
    index = find_index(path, ("bai", "csi"))
    try:
        return _merged(_lookup(_contents(index), intervals))
    except (struct.error, ValueError):
        raise InputError(f"the index {index} is damaged; run: samtools index {path}") from None


def find_index(path: Path, kinds: Sequence[str]) -> Path:
    """Return X.bam.bai or X.bai, or in their place the first of the other kinds that exists.

    Raises
    ------
    InputError
        There is none.
    """
    for kind in kinds:
        for candidate in (path.with_name(f"{path.name}.{kind}"), path.with_suffix(f".{kind}")):
            if candidate.is_file():
                return candidate
    raise InputError(f"{path} has no index; run: samtools index {path}")


def _contents(index: Path) -> bytes:
    try:
        data = index.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {index}: {error.strerror or error}") from error
    if not data.startswith(_GZIP_MAGIC):
        return data
    with Pool(1) as pool, index.open("rb") as stream:
        return b"".join(BgzfReader(stream, str(index), pool).pieces())


def _lookup(data: bytes, intervals: Intervals) -> Iterator[_Chunks]:
    fields = _Fields(data[4:])
    if data[:4] == _BAI_MAGIC:
        binning = _Binning(14, 5)
    elif data[:4] == _CSI_MAGIC:
        binning = _Binning(*fields.take("<ii"))
        fields.skip(_natural(fields))
    else:
        raise ValueError("neither BAI nor CSI")
    if min(binning.min_shift, binning.depth) < 0 or binning.bits > _MAX_BINNED_BITS:
        raise ValueError("impossible bins")
    references = min(_natural(fields), intervals.offsets.size - 1)
    for reference in range(references):
        bins = _bins(fields, is_csi=data[:4] == _CSI_MAGIC)
        for row in range(intervals.offsets[reference], intervals.offsets[reference + 1]):
            start, end = int(intervals.starts[row]), int(intervals.ends[row])
            yield from bins.overlapping(binning, start, end)


def _bins(fields: _Fields, *, is_csi: bool) -> _Bins:
    chunks: dict[int, _Chunks] = {}
    floors: dict[int, int] = {}
    for _ in range(_natural(fields)):
        (number,) = fields.take("<I")
        if is_csi:
            (floors[number],) = fields.take("<Q")
        chunks[number] = fields.take_offsets(2 * _natural(fields)).reshape(-1, 2)
    linear = fields.take_offsets(0 if is_csi else _natural(fields))
    return _Bins(chunks, floors, linear)


def _natural(fields: _Fields) -> int:
    (count,) = fields.take("<i")
    if count < 0:
        raise ValueError("negative count")
    return count


def _merged(chunks: Iterable[_Chunks]) -> list[VirtualRange]:
    """Sort chunks, and join those that overlap or share a block."""
    table = np.concatenate([np.empty((0, 2), dtype=np.uint64), *chunks])
    merged: list[VirtualRange] = []
    for start, end in sorted(table.tolist()):
        if start > end:
            raise ValueError("a chunk ends before it begins")
        if merged and start >> 16 <= merged[-1].end >> 16:
            merged[-1] = VirtualRange(merged[-1].start, max(end, merged[-1].end))
        else:
            merged.append(VirtualRange(start, end))
    return merged
