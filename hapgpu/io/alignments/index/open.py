"""Indexes of BAM and CRAM files: finding, loading and querying them."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.alignments.index.bins import BinIndex
from hapgpu.io.alignments.index.file_state import FileState
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bgzf.pieces import PieceReader, VirtualRange
from hapgpu.io.bgzf.reader import inflated_blocks
from hapgpu.io.files.record_limit import MAX_RECORD

_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_KEPT: Final = 16
_SECOND: Final = 10**9  # in nanoseconds
_READ_BYTES: Final = 1 << 20

_Found = TypeVar("_Found")

logger = logging.getLogger(__name__)


def ranges_of(path: Path, intervals: Intervals) -> list[VirtualRange]:
    """Look up the ranges of a BAM file with all records that overlap given intervals.

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
    return _from_bins(path, lambda bins: _ranges(bins, intervals))


def contigs_in_bins(path: Path, contigs: int) -> NDArray[np.int64]:
    """Return the numbers of the contigs of a BAM file with records, ascending.

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
    index = find_index(path, ("bai", "csi"))
    try:
        bins = _load(index, FileState.of(index))
        found = query(bins)
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
    found = _index_beside(path, kinds)
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
    return _index_beside(path, kinds) is not None


def _index_beside(path: Path, kinds: Sequence[str]) -> Path | None:
    for kind in kinds:
        for candidate in (path.with_name(f"{path.name}.{kind}"), path.with_suffix(f".{kind}")):
            if candidate.is_file():
                return candidate
    return None


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
