"""A piece of BAM in which a GPU found a fault, read by the CPU: for its message, or its records."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.hand_over import HandOver
from hapgpu.io.bam.cuda.starts import RecordLimits
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import (
    SOUND,
    TOO_LONG,
    RecordLayout,
    measure_records,
    record_fault,
    walk_records,
)
from hapgpu.io.bgzf.block_table import damaged_block
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.files.record_limit import too_long

_INCOMPLETE: Final = -1
"""Fault of a record that ends after the stretch in which it starts."""


class ReadAgain(NamedTuple):
    """Records of a piece, and what it hands over."""

    block: RecordBlock
    hand_over: HandOver


def read_again(piece: PackedPiece, before: HandOver, limits: RecordLimits, name: str) -> ReadAgain:
    """Read a piece on the CPU.

    Raises
    ------
    InputError
        A block or a record is damaged.
    """
    content, lengths = content_of(piece, name)
    data = read_only(np.concatenate([before.bytes(), content]))
    ends = before.size + np.cumsum(lengths)
    if before.size and not piece.continues:
        ends[0] = before.size  # no more bytes of the record handed over
    starts, fault = _walked(data, ends, limits.max_record)
    layout = RecordLayout.empty(starts)
    row, row_fault = map(int, measure_records(data, layout, 0, starts.size, limits.contigs))
    if row_fault != SOUND:
        raise _fault(name, before.records + row, row_fault, limits)
    end = _end_of(data, starts)
    if fault == SOUND and end < data.size and not piece.goes_on:
        fault = _INCOMPLETE
    if fault != SOUND:
        raise _fault(name, before.records + starts.size, fault, limits)
    tail = data[end:].copy()
    return ReadAgain(
        RecordBlock(data, layout),
        HandOver((tail,) if tail.size else (), before.records + starts.size),
    )


def truncated(name: str, record: int) -> InputError:
    """Return the error for a file that ends within a record; records count from 1."""
    return InputError(f"{name}: truncated (it ends within record {record}); copy it again")


def _walked(
    data: NDArray[np.uint8], ends: NDArray[np.int64], max_record: int
) -> tuple[NDArray[np.int64], int]:
    """Find the records of stretches; each must start with a record, and all but the last end so.

    Return their starts and the fault of the next record.
    """
    found = [np.empty(0, dtype=np.int64)]
    at, fault = 0, SOUND
    for end in ends.tolist():
        starts = np.empty((end - at) // FIXED_BYTES + 1, dtype=np.int64)
        walked = walk_records(data[:end], at, max_record, starts)
        count, _, at, fault = map(int, walked)
        found.append(starts[:count].copy())  # a view would keep all of `starts`
        if fault == SOUND and at < end < data.size:
            fault = _INCOMPLETE
        if fault != SOUND:
            break
    return np.concatenate(found), fault


def _end_of(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> int:
    if not starts.size:
        return 0
    last = int(starts[-1])
    return last + 4 + int.from_bytes(data[last : last + 4].tobytes(), "little")


def content_of(piece: PackedPiece, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Inflate a piece on the CPU; return its stretches end to end, uint8, and their lengths.

    Raises
    ------
    InputError
        A block is damaged.
    """
    content = np.empty(piece.size, dtype=np.uint8)
    row = inflate_library().new_inflater()(piece.raw, piece.table, content)
    if row >= 0:
        raise damaged_block(name, int(piece.table.offsets[row]))
    stretches = zip(piece.starts.tolist(), piece.ends.tolist(), strict=True)
    return (
        np.concatenate([content[start:end] for start, end in stretches]),
        piece.ends - piece.starts,
    )


def _fault(name: str, done: int, fault: int, limits: RecordLimits) -> InputError:
    """Return the error for the record after `done` others."""
    if fault == _INCOMPLETE:
        return truncated(name, done + 1)
    if fault == TOO_LONG:
        return too_long(f"{name}, record {done + 1}", limits.max_record)
    return record_fault(name, done, fault)
