"""Table of the BGZF blocks in an array of bytes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_u16, load_u32
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import MAGIC
from hapgpu.runtime.jit import njit

MAX_BLOCK_BYTES: Final = 1 << 16
"""Bytes of a block, and of its content, at most."""

_HEADER_BYTES: Final = 12
_SUBFIELD_BYTES: Final = 6
_FOOTER_BYTES: Final = 8
_MIN_BLOCK_BYTES: Final = _HEADER_BYTES + _SUBFIELD_BYTES + _FOOTER_BYTES
_MAGIC_NUMBER: Final = int.from_bytes(MAGIC, "little")
_BLOCK_SIZE_FIELD: Final = int.from_bytes(b"BC\2\0", "little")

_SOUND, _NO_BLOCK, _NO_SIZE, _TOO_LARGE = range(4)


class BlockTable(NamedTuple):
    """n BGZF blocks in an array of bytes, in order.

    Attributes
    ----------
    starts, ends
        int64[n]: range of the deflated data of each block in the array.
    crcs
        uint32[n]: CRC-32 of its inflated data.
    sizes
        int64[n]: bytes of its inflated data, at most `MAX_BLOCK_BYTES`; 0 is legal anywhere.
    offsets
        int64[n]: offset of the block in its file, for messages and virtual offsets.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    crcs: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def slice(self, start: int, end: int) -> BlockTable:
        """Return the blocks of rows start to end, sharing memory."""
        return BlockTable._make(column[start:end] for column in self)


class DamagedBlockError(InputError):
    """A block fails its own checksum, so its index is not the cause."""


def damaged_block(name: str, offset: int) -> InputError:
    """Return the error for a block whose content is not what its checksum or size says."""
    return DamagedBlockError(
        f"{name}: damaged (checksum of the BGZF block at byte {offset}); copy it again"
    )


def scan_blocks(raw: NDArray[np.uint8], offset: int, name: str) -> tuple[BlockTable, int]:
    """Find the whole blocks at the start of some bytes of a BGZF file.

    The search ends before a block that is not complete, before bytes that are no block, and after
    an empty block that other bytes follow (see `may_start_block`). So blocks before a fault are
    found whatever the number of bytes; the fault is an error when the bytes start with it.

    Parameters
    ----------
    raw
        uint8: the bytes; the first is the first of a block.
    offset
        Offset of the first byte in the file.
    name
        The file's name for messages.

    Returns
    -------
    tuple
        The table, perhaps of no blocks, and the bytes of the blocks: the next block starts there.

    Raises
    ------
    InputError
        The bytes do not start with a BGZF block.
    """
    rows = raw.size // _MIN_BLOCK_BYTES + 1
    starts, ends, sizes, offsets = (np.empty(rows, dtype=np.int64) for _ in range(4))
    crcs = np.empty(rows, dtype=np.uint32)
    scanned = _scan(read_only(raw), starts, ends, crcs, sizes, offsets)
    count, used, fault = map(int, scanned)
    if not count and fault != _SOUND:
        raise _error(fault, offset, name)
    table = BlockTable(starts, ends, crcs, sizes, offsets)
    # The columns have room for many more rows.
    table = BlockTable._make(column[:count].copy() for column in table)
    return table._replace(offsets=table.offsets + offset), used


def may_start_block(raw: NDArray[np.uint8]) -> bool:
    """Tell whether `raw`, uint8, may start a block, or may become one as it is empty."""
    return MAGIC.startswith(raw[: len(MAGIC)].tobytes())


def _error(fault: int, offset: int, name: str) -> InputError:
    if fault == _NO_BLOCK:
        return InputError(f"{name}: damaged (no BGZF block at byte {offset}); copy it again")
    if fault == _NO_SIZE:
        return InputError(
            f"{name}: damaged (the block at byte {offset} is not BGZF); copy it again"
        )
    return damaged_block(name, offset)


@njit
def _block_size(raw: NDArray[np.uint8], at: Integer, start: Integer) -> Integer:
    """Return the size of a block from the subfield BC of its header; 0 without a possible one."""
    field = at + _HEADER_BYTES
    while field + _SUBFIELD_BYTES <= start:
        if load_u32(raw, field) == _BLOCK_SIZE_FIELD:
            size = load_u16(raw, field + 4) + 1
            return size if at + size >= start + _FOOTER_BYTES else 0
        field += 4 + load_u16(raw, field + 2)
    return 0


@njit
def _scan(
    raw: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    crcs: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer]:
    """Fill the rows of a table; return their number, their bytes, and the fault after them."""
    count = 0
    at = 0
    while at + _HEADER_BYTES <= raw.size:
        if load_u32(raw, at) != _MAGIC_NUMBER:
            return count, at, _NO_BLOCK
        start = at + _HEADER_BYTES + load_u16(raw, at + 10)
        if start > raw.size:
            break
        size = _block_size(raw, at, start)
        if size == 0:
            return count, at, _NO_SIZE
        if at + size > raw.size:
            break
        end = at + size - _FOOTER_BYTES
        inflated = load_u32(raw, end + 4)
        if inflated > MAX_BLOCK_BYTES:
            return count, at, _TOO_LARGE
        starts[count] = start
        ends[count] = end
        crcs[count] = load_u32(raw, end)
        sizes[count] = inflated
        offsets[count] = at
        count += 1
        at += size
        if inflated == 0 and not _may_start_block(raw, at):
            break
    return count, at, _SOUND


@njit
def _may_start_block(raw: NDArray[np.uint8], at: Integer) -> bool:
    for k in range(min(np.int64(len(MAGIC)), raw.size - at)):
        if raw[at + k] != _MAGIC_NUMBER >> (8 * k) & 255:
            return False
    return True
