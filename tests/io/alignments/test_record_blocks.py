"""Records of BAM as bytes: selected, joined, replaced, and sorted again."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import offsets_of
from hapgpu.errors import InputError
from hapgpu.io.alignments.record_order import OldOrder, OrderKeeper, RecordRun
from hapgpu.io.bam.decode import block_of as records_of
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.runtime.pool import Pool
from tests.example_counts import many
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of, batch_rows

HEADER = SamHeader.from_references(["chr1", "chr2"], [2**29, 2**29])
NOWHERE = (-1, -1)

Position = tuple[int, int]


def record(name: str, position: Position = (0, 99), bases: str = "ACGTN") -> Row:
    cigar = ((0, len(bases)),) if bases else ()
    qualities = tuple(range(len(bases))) or None
    tags = (("NM", "C", 1), ("XZ", "Z", name * 3))
    return Row(name, 0, *position, 60, cigar, -1, -1, 0, bases, qualities, tags)


def block_of(rows: Sequence[Row]) -> RecordBlock:
    with Pool(1) as pool:
        return encode_block(batch_of(rows), HEADER, pool)


def stored(block: RecordBlock) -> list[bytes]:
    """Return the bytes of each record, by its own `block_size`."""
    data = block.data.tobytes()
    starts = block.layout.starts.tolist()
    return [data[at : at + 4 + struct.unpack_from("<i", data, at)[0]] for at in starts]


def rows_in(block: RecordBlock) -> list[Row]:
    with Pool(1) as pool:
        return batch_rows([decode_block(block, pool)])


RECORDS = st.lists(
    st.builds(
        record,
        st.text("abc", min_size=1, max_size=4),
        st.sampled_from([(0, 5), (1, 0), NOWHERE]),
        st.text("ACGTN", max_size=9),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(RECORDS, st.randoms(use_true_random=False))
def test_chosen_records_are_packed(rows: list[Row], random: Random) -> None:
    block = block_of(rows)
    assert block.packed() is block
    order = [k for k in range(len(rows)) if random.random() < 0.6]
    random.shuffle(order)
    some = block.take(np.array(order, dtype=np.int64))
    packed = some.packed()
    assert b"".join(stored(packed)) == packed.data.tobytes()
    assert stored(packed) == stored(some) == [stored(block)[k] for k in order]
    if order:
        assert rows_in(packed) == [rows[k] for k in order]
    assert packed.sizes.tolist() == [len(x) for x in stored(some)]


def test_positions_sort_as_coordinates() -> None:
    positions = [(0, 0), (0, 1), (0, 2**29 - 1), (1, 0), (1, 7), NOWHERE]
    block = block_of([record("r", position) for position in positions])
    assert (np.diff(block.sort_keys) > 0).all()


def sort_key(position: Position) -> tuple[int, int]:
    return (2**31 if position[0] < 0 else position[0], position[1])


@st.composite
def moves(draw: st.DrawFn) -> list[tuple[Position, Position]]:
    """Sorted positions, some of which move on their contig, at most 9 to the left."""
    positions = draw(
        st.lists(
            st.one_of(st.tuples(st.sampled_from([0, 1]), st.integers(0, 25)), st.just(NOWHERE)),
            min_size=12,
            max_size=40,
        )
    )
    positions.sort(key=sort_key)
    shifts = draw(st.lists(st.integers(-9, 20), min_size=len(positions), max_size=len(positions)))
    return [
        (position, (position[0], max(0, position[1] + shift)) if position[0] >= 0 else position)
        for position, shift in zip(positions, shifts, strict=True)
    ]


def run_of(block: RecordBlock) -> RecordRun:
    """Return the records of a block, sorted."""
    keys = block.sort_keys
    block = block.take(np.argsort(keys, kind="stable")).packed()
    return RecordRun(block.data, offsets_of(block.sizes), np.sort(keys))


def joined(parts: Sequence[np.ndarray]) -> bytes:
    return b"".join(part.tobytes() for part in parts)


@settings(max_examples=many(250))
@given(moves(), st.lists(st.integers(0, 40), max_size=6))
def test_moved_records_are_sorted_again(
    positions: list[tuple[Position, Position]], cuts: list[int]
) -> None:
    """As by a stable sort, for any blocks; no record may be missing."""
    names = [f"r{k}" for k in range(len(positions))]
    keeper = OrderKeeper(9, "reads.bam")
    bounds = sorted({0, len(positions), *(cut for cut in cuts if cut < len(positions))})
    bounds.insert(1, bounds[1])  # a block without records
    written = b""
    for start, end in pairwise(bounds):
        some = range(start, end)
        old, new = (block_of([record(names[k], positions[k][w]) for k in some]) for w in (0, 1))
        written += joined(keeper.put(OldOrder.of(old.sort_keys), run_of(new)))
    written += joined(keeper.rest())
    order = sorted(range(len(positions)), key=lambda k: sort_key(positions[k][1]))
    expected = block_of([record(names[k], positions[k][1]) for k in order])
    assert written == expected.data.tobytes()


def test_records_do_not_wait_for_long() -> None:
    keeper = OrderKeeper(10, "reads.bam")
    for start in range(0, 5000, 50):
        block = block_of([record(f"r{start + k}", (0, start + k)) for k in range(50)])
        ready = keeper.put(OldOrder.of(block.sort_keys), run_of(block))
        assert sum(part.size for part in ready) >= 39 * int(block.sizes.min())
    block = block_from(joined(keeper.rest()))
    assert len(block) == 10


def block_from(data: bytes) -> RecordBlock:
    with Pool(1) as pool:
        return records_of(np.frombuffer(data, dtype=np.uint8), 2, pool)


def test_only_records_between_others_are_copied() -> None:
    keeper = OrderKeeper(5, "reads.bam")
    first, second = (
        run_of(block_of([record(f"r{at}", (0, at)) for at in positions]))
        for positions in ([10, 20, 29, 30], [28, 31, 40, 50])
    )
    old = OldOrder(first.keys[0], first.keys[-1], is_sorted=True)
    ready = keeper.put(old, first)
    assert [part.size for part in ready] == [first.offsets[2]]
    assert np.shares_memory(ready[0], first.data)
    before, between, after = keeper.put(OldOrder(old.last, second.keys[-1], is_sorted=True), second)
    assert before.size == 0
    assert between.size == first.offsets[4] - first.offsets[2] + second.offsets[1]
    assert np.shares_memory(after, second.data)


@pytest.mark.parametrize("blocks", [[[5, 9, 7]], [[5, 9], [7, 8]]])
def test_unsorted_records_are_refused(blocks: list[list[int]]) -> None:
    keeper = OrderKeeper(0, "reads.bam")

    def put_all() -> None:
        for starts in blocks:
            block = block_of([record("r", (0, start)) for start in starts])
            keeper.put(OldOrder.of(block.sort_keys), run_of(block))

    with pytest.raises(InputError, match=re.escape("reads.bam: not sorted")):
        put_all()


def test_records_without_a_position_come_last() -> None:
    keeper = OrderKeeper(0, "reads.bam")
    block = block_of([record("r", NOWHERE), record("r", (0, 5))])
    with pytest.raises(InputError, match="not sorted"):
        keeper.put(OldOrder.of(block.sort_keys), run_of(block))
