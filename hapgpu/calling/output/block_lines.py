"""Lines of blocks and of single positions of a genomic VCF, between finished records."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.options import MAX_QUALITY
from hapgpu.calling.output.reference_blocks import (
    BASE,
    COPIES,
    DEPTH,
    END,
    MIN_DEPTH,
    PHREDS,
    QUALITY,
    START,
    Items,
)
from hapgpu.calling.output.reference_positions import ReferencePositions
from hapgpu.io.text.builder import TextBuilder, put_byte, put_integer, put_two
from hapgpu.io.text.columns import put_row
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _COLON, _COMMA, _SLASH, _POINT, _ZERO = b"\t\n:,/.0"
_ITEMS: Final = TextBuilder(row_bytes=100)
_TEXTS: Final = Ragged.from_sequences(
    [
        "\t<NON_REF>\t.\t.\tEND=",
        "\tGT:DP:GQ:MIN_DP:PL\t",
        "\tGT:DP:GQ\t",
        "\t<NON_REF>\t.\t.\t.\tGT:AD:DP:GQ:PL\t",
    ]
)
_BLOCK, _FORMAT, _FLOOR_FORMAT, _POSITION = range(4)
NO_LINES: Final = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))


def item_lines(contig: str, items: Items, records: Ragged, *, has_floors: bool = False) -> bytes:
    """Write blocks and the lines of records, in their order.

    Parameters
    ----------
    contig
        Name of the contig.
    items
        The blocks, and the order.
    records
        uint8 text, a row per record.
    has_floors
        Whether blocks have neither PL nor MIN_DP.
    """
    contigs = np.zeros(len(items.blocks), dtype=np.int64)
    return _item_lines(_row_of(contig), contigs, items, records, has_floors=has_floors)


def empty_lines(names: Ragged, blocks: NDArray[np.int64], *, has_floors: bool = False) -> bytes:
    """Write blocks of contigs without reads.

    Parameters
    ----------
    names
        uint8 text, n rows: the contig of each block.
    blocks
        int64[n, `PHREDS` + k], as of `Items`.
    has_floors
        As of `item_lines`.
    """
    rows = np.arange(len(blocks))
    return _item_lines(names, rows, Items(blocks, rows), NO_LINES, has_floors=has_floors)


def position_lines(
    contig: str, positions: ReferencePositions, record_starts: NDArray[np.int64], records: Ragged
) -> bytes:
    """Write a line for each position: its record, else its own likelihoods.

    Positions that REF of a record before covers have lines, too: GATK's BP_RESOLUTION.

    Parameters
    ----------
    contig
        Name of the contig.
    positions
        Consecutive positions.
    record_starts
        int64[v], ascending: the position of each record.
    records
        uint8 text, v rows.
    """
    columns = _Positions(
        positions.start,
        read_only(positions.bases),
        read_only(positions.depths),
        read_only(positions.alternate_depths),
        read_only(positions.ploidies),
        read_only(positions.phreds),
    )
    write = partial(
        _put_positions,
        view_of(_row_of(contig)),
        columns,
        read_only(record_starts),
        view_of(_TEXTS),
        view_of(records),
    )
    return _ITEMS(positions.depths.size, write).tobytes()


def _row_of(contig: str) -> Ragged:
    return Ragged.from_sequences([contig.encode("utf-8", "surrogateescape")])


def _item_lines(
    names: Ragged, contigs: NDArray[np.int64], items: Items, records: Ragged, *, has_floors: bool
) -> bytes:
    """Write items; block k is of the contig of row `contigs[k]` of the names."""
    write = partial(
        _put_items,
        view_of(names),
        read_only(contigs),
        read_only(items.blocks),
        read_only(items.order),
        view_of(_TEXTS),
        view_of(records),
        has_floors,
    )
    return _ITEMS(items.order.size, write).tobytes()


@njit
def _put_items(
    names: RaggedView,
    contigs: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
    texts: RaggedView,
    records: RaggedView,
    has_floors: bool,  # noqa: FBT001  (Numba has no parameters that are only named)
    out: NDArray[np.uint8],
) -> Integer:
    """Write blocks, and for a negative item a finished record, in their order; return the end."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    for item in order:
        if item < 0:
            at = put_row(text, at, records, -1 - item)
            continue
        copies = blocks[item, COPIES]
        at = put_byte(text, put_row(text, at, names, contigs[item]), _TAB)
        at = _put_place(text, at, blocks[item, START], blocks[item, BASE])
        at = put_row(text, at, texts, np.int64(_BLOCK))
        at = put_integer(text, at, blocks[item, END])
        at = put_row(text, at, texts, np.int64(_FLOOR_FORMAT if has_floors else _FORMAT))
        at = put_byte(text, _put_reference(text, at, copies), _COLON)
        at = put_byte(text, put_integer(text, at, blocks[item, DEPTH]), _COLON)
        at = put_integer(text, at, blocks[item, QUALITY])
        if not has_floors:
            at = put_integer(text, put_byte(text, at, _COLON), blocks[item, MIN_DEPTH])
            at = put_two(text, at, _COLON, _ZERO)
            for k in range(PHREDS, PHREDS + copies):
                at = put_integer(text, put_byte(text, at, _COMMA), blocks[item, k])
        at = put_byte(text, at, _NEWLINE)
    return at


class _Positions(NamedTuple):
    """Columns of `ReferencePositions`."""

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    alternate_depths: NDArray[np.int32]
    ploidies: NDArray[np.int32]
    phreds: NDArray[np.int32]


@njit
def _put_positions(
    name: RaggedView,
    positions: _Positions,
    record_starts: NDArray[np.int64],
    texts: RaggedView,
    records: RaggedView,
    out: NDArray[np.uint8],
) -> Integer:
    """Write a line per position; return the end."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    record = np.int64(0)
    for row in range(positions.depths.size):
        position = positions.start + row
        if record < record_starts.size and record_starts[record] == position:
            at = put_row(text, at, records, record)
            record += 1
            continue
        at = put_byte(text, put_row(text, at, name, np.int64(0)), _TAB)
        at = _put_place(text, at, position, np.int64(positions.bases[row]))
        at = put_row(text, at, texts, np.int64(_POSITION))
        at = _put_reference(text, at, np.int64(positions.ploidies[row]))
        at = put_byte(text, _put_depths(text, at, positions, row), _COLON)
        at = _put_phreds(text, at, positions, row)
        at = put_byte(text, at, _NEWLINE)
    return at


@njit
def _put_place(text: Memory, at: Integer, start: Integer, base: Integer) -> Integer:
    """Write POS, ID and REF, with tabs between."""
    at = put_integer(text, at, start + 1)
    return put_two(text, put_two(text, at, _TAB, _POINT), _TAB, base)


@njit
def _put_reference(text: Memory, at: Integer, copies: Integer) -> Integer:
    """Write GT of so many copies of REF."""
    at = put_byte(text, at, _ZERO)
    for _ in range(1, copies):
        at = put_two(text, at, _SLASH, _ZERO)
    return at


@njit
def _put_depths(text: Memory, at: Integer, positions: _Positions, row: Integer) -> Integer:
    """Write AD and DP, each after a colon."""
    depth = np.int64(positions.depths[row])
    different = np.int64(positions.alternate_depths[row])
    at = put_integer(text, put_byte(text, at, _COLON), depth - different)
    at = put_integer(text, put_byte(text, at, _COMMA), different)
    return put_integer(text, put_byte(text, at, _COLON), depth)


@njit
def _put_phreds(text: Memory, at: Integer, positions: _Positions, row: Integer) -> Integer:
    """Write GQ and PL, with a colon between."""
    quality = np.int64(MAX_QUALITY)
    for k in range(positions.ploidies[row]):
        quality = min(quality, np.int64(positions.phreds[row, k]))
    at = put_two(text, put_integer(text, at, quality), _COLON, _ZERO)
    for k in range(positions.ploidies[row]):
        at = put_integer(text, put_byte(text, at, _COMMA), np.int64(positions.phreds[row, k]))
    return at
