"""Indexes of BAM and CRAM files: finding, loading and querying them."""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.alignments.index_bins import BinIndex
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bgzf.pieces import PieceReader, VirtualRange, inflated_blocks
from hapgpu.io.files.beside import BAM_INDEXES, index_beside
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_state import FileState
from hapgpu.io.files.record_limit import MAX_RECORD

_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_KEPT: Final = 16
_SECOND: Final = 10**9  # in nanoseconds
_READ_BYTES: Final = 1 << 20

_Found = TypeVar("_Found")

logger = logging.getLogger(__name__)
_FIELDS: Final = 6  # contig, start, span, offset of the container, of the slice in it, its bytes
_NUMBER: Final = re.compile(rb"-?[0-9]{1,19}")
_MAX_TRAILING_BYTES: Final = 1 << 12
"""Maximum of bytes from the last slice, by its entry, to the end of the file.

These are the header of its container, which the entry does not count (up to 56 bytes, and 5 per
slice), and the closing container (38): room for 800 slices per container. samtools and htsjdk write
one slice per container by default.
"""


def ranges_of(path: Path, intervals: Intervals | None) -> list[VirtualRange]:
    """Look up the ranges of a BAM file with all records that overlap given intervals, if any.

    An index is read once while its file is unchanged; safe to call from several threads.

    Returns
    -------
    list of VirtualRange
        In file order, disjoint.

    Raises
    ------
    InputError
        There is no index, or it is damaged.
    """
    return _from_bins(path, lambda bins: _ranges(bins, intervals) if intervals else [])


def contigs_in_bins(path: Path, contigs: int) -> NDArray[np.int64]:
    """Return int64[c]: the numbers of the contigs of a BAM file with records, ascending.

    Parameters
    ----------
    path
        The file.
    contigs
        Number of contigs in its header.

    Raises
    ------
    InputError
        There is no index, or it is damaged.
    """

    def found(bins: BinIndex) -> NDArray[np.int64]:
        bins.check_contigs(contigs)
        return bins.contigs()

    return _from_bins(path, found)


def _from_bins(path: Path, query: Callable[[BinIndex], _Found]) -> _Found:
    """Return the result of a query of the index of a BAM file."""
    index = find_index(path, BAM_INDEXES)
    try:
        bins = _load(index, FileState.of(index))
        found = query(bins)
    except InputError:  # a ValueError, which has the message already
        raise
    except (struct.error, ValueError) as error:
        raise InputError(f"{index}: damaged ({error}); run: samtools index {path}") from None
    if not bins.may_be_of(FileState.of(path).size):
        raise index_mismatch(index, path, "its records end elsewhere")
    return found


def _ranges(bins: BinIndex, intervals: Intervals) -> list[VirtualRange]:
    """Return the ranges with all records that overlap an interval, and one of any further ones."""
    found = _merge(bins.chunks(intervals))
    if intervals.further is None or not found:
        return found
    return _common(found, _ranges(bins, intervals.further))


def _common(first: Sequence[VirtualRange], second: Sequence[VirtualRange]) -> list[VirtualRange]:
    """Return what two lists of ranges share; each is in file order, with disjoint ranges."""
    common, number = [], 0
    for one in first:
        while number < len(second) and second[number].end <= one.start:
            number += 1
        for other in map(second.__getitem__, range(number, len(second))):
            if other.start >= one.end:
                break
            common.append(VirtualRange(max(one.start, other.start), min(one.end, other.end)))
    return common


def index_mismatch(index: Path, path: Path, reason: str) -> InputError:
    """Return the error for an index whose offsets are not offsets of records of the file."""
    return InputError(f"{index}: does not match {path} ({reason}); run: samtools index {path}")


def find_index(path: Path, kinds: Sequence[str]) -> Path:
    """Return X.bam.bai or X.bai, or the first of the other kinds that exists.

    Warns of an index that is older than its file.

    Raises
    ------
    InputError
        There is no index.
    """
    found = index_beside(path, kinds)
    if found is None:
        raise InputError(f"{path}: no index; run: samtools index {path}")
    _warn_if_older(found, FileState.of(found), path, FileState.of(path))
    return found


@lru_cache(_MAX_KEPT)
def _warn_if_older(index: Path, index_state: FileState, path: Path, state: FileState) -> None:
    """Warn once, as samtools does, if the index is older than its file by whole seconds."""
    if index_state.written // _SECOND < state.written // _SECOND:
        logger.warning(
            "%s: older than %s; if the file has changed since, run: samtools index %s",
            index,
            path,
            path,
        )


def has_index(path: Path, kinds: Sequence[str]) -> bool:
    """Tell whether `find_index` would find an index."""
    return index_beside(path, kinds) is not None


@lru_cache(_MAX_KEPT)
def _load(index: Path, _state: FileState) -> BinIndex:
    return BinIndex(_contents(index))


def _contents(index: Path) -> bytes:
    try:
        with index.open("rb") as stream:
            if not stream.peek(1).startswith(_GZIP_MAGIC):
                return _join(iter(partial(stream.read, _READ_BYTES), b""), index)
            name = str(index)
            reader = PieceReader(stream, name, packed_bytes=_READ_BYTES, inflated_bytes=_READ_BYTES)
            return _join(inflated_blocks(reader.pieces(), name), index)
    except OSError as error:
        raise InputError(f"{index}: cannot be read ({error.strerror or error})") from error


def _join(pieces: Iterable[bytes], index: Path) -> bytes:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > MAX_RECORD:
            raise InputError(f"{index}: too large for an index of reads; run: samtools index")
    return bytes(data)


def _merge(chunks: NDArray[np.int64]) -> list[VirtualRange]:
    """Sort chunks; join chunks that overlap or share a block."""
    starts, ends = chunks[np.argsort(chunks[:, 0], kind="stable")].T
    if (starts > ends).any():
        raise ValueError("a chunk ends before it starts")
    max_ends = np.maximum.accumulate(ends)
    is_apart = starts[1:] >> 16 > max_ends[:-1] >> 16
    edge = np.ones(min(starts.size, 1), dtype=np.bool_)
    range_starts = starts[np.concatenate([edge, is_apart])].tolist()
    range_ends = max_ends[np.concatenate([is_apart, edge])].tolist()
    return list(map(VirtualRange, range_starts, range_ends))


def has_entries(index: Path, path: Path) -> bool:
    """Tell whether an index lists slices, and make sure that they match a file.

    An index without slices is the index of a file without records, or is truncated.

    Raises
    ------
    InputError
        It is damaged, or its last slice does not end where the file does.
    """
    slices = _slices_of(index, FileState.of(index), path)
    if not slices.contigs:
        return False
    end = slices.end
    if not 0 < FileState.of(path).size - end < _MAX_TRAILING_BYTES:
        raise InputError(
            f"{index}: does not match {path} (its slices end elsewhere); run: samtools index {path}"
        )
    return True


def contigs_in_slices(index: Path, path: Path, contigs: int) -> frozenset[int]:
    """Return the numbers of the contigs of a CRAM file with records; negative: without a contig.

    Parameters
    ----------
    index
        Index with slices.
    path
        The file.
    contigs
        Number of contigs in its header.

    Raises
    ------
    InputError
        The index is damaged.
    """
    found = _slices_of(index, FileState.of(index), path).contigs
    if max(found) >= contigs:
        raise _damaged(index, path)
    return found


def _damaged(index: Path, path: Path) -> InputError:
    return InputError(f"{index}: damaged, or not .crai; run: samtools index {path}")


class _Slices(NamedTuple):
    """Contigs of the slices, and the end of the last one, less its container's header."""

    contigs: frozenset[int]
    end: int


@lru_cache(_MAX_KEPT)
def _slices_of(index: Path, _state: FileState, path: Path) -> _Slices:
    with open_inflated(index, str(index)) as stream:
        text = stream.read(MAX_RECORD)
    lines = [line.split(b"\t") for line in text.splitlines()]
    if not all(len(line) == _FIELDS and all(map(_NUMBER.fullmatch, line)) for line in lines):
        raise _damaged(index, path)
    ends = (sum(map(int, line[3:])) for line in lines)
    return _Slices(frozenset(int(line[0]) for line in lines), max(ends, default=0))
