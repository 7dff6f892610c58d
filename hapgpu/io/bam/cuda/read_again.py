"""A piece of BAM in which a GPU found a fault, read by the CPU: for its message, or its records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.cuda.hand_over import HandOver
from hapgpu.io.bam.cuda.starts import RecordLimits
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import (
    FAULTS,
    SOUND,
    TOO_LONG,
    RecordLayout,
    measure_records,
    walk_records,
)
from hapgpu.io.bgzf.block_table import damaged_block
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.files.record_limit import too_long

_NO_LIMIT = 1 << 62


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
    data = read_only(np.concatenate([before.bytes(), content_of(piece, name)]))
    starts = np.empty(data.size // 36 + 1, dtype=np.int64)
    walked = walk_records(data, 0, _NO_LIMIT, _NO_LIMIT, limits.max_record, starts)
    count, _, end, fault = map(int, walked)
    layout = RecordLayout.empty(starts[:count].copy())
    row, record_fault = map(int, measure_records(data, layout, 0, count, limits.contigs))
    if record_fault != SOUND:
        raise _fault(name, before.records + row + 1, record_fault, limits)
    if fault != SOUND:
        raise _fault(name, before.records + count + 1, fault, limits)
    tail = data[end:].copy()
    return ReadAgain(
        RecordBlock(data, layout),
        HandOver((tail,) if tail.size else (), before.records + count),
    )


def content_of(piece: PackedPiece, name: str) -> NDArray[np.uint8]:
    """Inflate a piece on the CPU; return its stretches end to end, uint8.

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
    return np.concatenate([content[start:end] for start, end in stretches])


def _fault(name: str, record: int, fault: int, limits: RecordLimits) -> InputError:
    if fault == TOO_LONG:
        return too_long(f"{name}, record {record}", limits.max_record)
    return InputError(
        f"{name}, record {record}: damaged ({FAULTS[fault]}); correct or remove the record"
    )
