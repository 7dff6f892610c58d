"""Indexes of BAM and CRAM files: where they are, and where the records of a region lie."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.alignments.index.bins import BinIndex
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bgzf.reader import BgzfReader, VirtualRange
from hapgpu.io.files.file_state import FileState
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.pool import Pool

_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_KEPT: Final = 16
_SECOND: Final = 10**9  # in nanoseconds
_READ_BYTES: Final = 1 << 20

logger = logging.getLogger(__name__)


def ranges_of(path: Path, intervals: Intervals) -> list[VirtualRange]:
    """Look up the stretches of a BAM file that hold all records overlapping some intervals.

    An index is read once, as long as its file stays the same; safe to call from several threads.

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
        bins = _loaded(index, FileState.of(index))
        found = _merged(bins.chunks(intervals))
    except (struct.error, ValueError) as error:
        raise InputError(f"{index}: damaged ({error}); run: samtools index {path}") from None
    if not bins.may_be_of(FileState.of(path).size):
        raise index_mismatch(index, path, f"its records end elsewhere than {path}")
    return found


def index_mismatch(index: Path, path: Path, why: object) -> InputError:
    """Return the error for an index that leads to places where its file has no records."""
    return InputError(f"{index}: made of another file ({why}); run: samtools index {path}")


def find_index(path: Path, kinds: Sequence[str]) -> Path:
    """Return X.bam.bai or X.bai, or in their place the first of the other kinds that exists.

    An index older than its file is told of by a warning.

    Raises
    ------
    InputError
        There is none.
    """
    found = _index_beside(path, kinds)
    if found is None:
        raise InputError(f"{path} has no index; run: samtools index {path}")
    _tell_age(found, FileState.of(found), path, FileState.of(path))
    return found


@lru_cache(_MAX_KEPT)
def _tell_age(index: Path, index_state: FileState, path: Path, state: FileState) -> None:
    """Warn, once, where samtools does: in whole seconds, the index was written before its file."""
    if index_state.written // _SECOND < state.written // _SECOND:
        logger.warning(
            "%s: older than %s; if that was changed since, run: samtools index %s",
            index,
            path,
            path,
        )


def has_index(path: Path, kinds: Sequence[str]) -> bool:
    """Tell whether `find_index` would find one."""
    return _index_beside(path, kinds) is not None


def _index_beside(path: Path, kinds: Sequence[str]) -> Path | None:
    for kind in kinds:
        for candidate in (path.with_name(f"{path.name}.{kind}"), path.with_suffix(f".{kind}")):
            if candidate.is_file():
                return candidate
    return None


@lru_cache(_MAX_KEPT)
def _loaded(index: Path, _state: FileState) -> BinIndex:
    return BinIndex(_contents(index))


def _contents(index: Path) -> bytes:
    try:
        with Pool(1) as pool, index.open("rb") as stream:
            if stream.peek(1).startswith(_GZIP_MAGIC):
                pieces = BgzfReader(stream, str(index), pool).pieces()
            else:
                pieces = iter(partial(stream.read, _READ_BYTES), b"")
            return _joined(pieces, index)
    except OSError as error:
        raise InputError(f"cannot read {index}: {error.strerror or error}") from error


def _joined(pieces: Iterable[bytes], index: Path) -> bytes:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > MAX_RECORD:
            raise InputError(f"{index}: no index of reads is so large; make it again")
    return bytes(data)


def _merged(chunks: NDArray[np.int64]) -> list[VirtualRange]:
    """Sort chunks, and join those that overlap or share a block."""
    starts, ends = chunks[np.argsort(chunks[:, 0], kind="stable")].T
    if (starts > ends).any():
        raise ValueError("a chunk ends before it begins")
    reach = np.maximum.accumulate(ends)
    is_apart = starts[1:] >> 16 > reach[:-1] >> 16
    edge = np.ones(min(starts.size, 1), dtype=np.bool_)
    begins = starts[np.concatenate([edge, is_apart])].tolist()
    stops = reach[np.concatenate([is_apart, edge])].tolist()
    return [VirtualRange(begin, stop) for begin, stop in zip(begins, stops, strict=True)]
