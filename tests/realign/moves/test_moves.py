"""The table of moves: look-up by name and position, independent of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.projection import move_table
from hapgpu.realign.projection.move_table import NOT_MOVED, MoveCollector, MoveTable
from hapgpu.realign.projection.moves import Moves, name_hashes
from hapgpu.realign.records.rewriter import AffectedRecords, find_moves
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of

HEADER = SamHeader.from_references(["one", "two"], [10_000, 10_000])
FIRST, SECOND, SECONDARY, SUPPLEMENTARY = 0x40, 0x80, 0x100, 0x800
SEGMENT = FIRST | SECOND
READ = 10


class Move(NamedTuple):
    """A move of a read of ten bases, without gaps."""

    name: str
    flag: int
    contig: int
    old: int
    new: int

    def row(self, mate: tuple[int, int] = (-1, -1), *, has_sa: bool = False) -> Row:
        """Return the record of the read before it moves."""
        tags = (("XA", "Z", "x"), ("SA", "Z", "one,5,+,5M,0,0;")) if has_sa else ()
        return Row(
            self.name, self.flag, self.contig, self.old, 60, ((0, READ),), *mate, 0, "A" * READ,
            None, tags,
        )  # fmt: skip


def moves_of(some: Sequence[Move]) -> Moves:
    def column(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int32)

    old, new = (column([getattr(move, which) for move in some]) for which in ("old", "new"))
    numbers = column([sum(map(ord, move.name)) for move in some])
    return Moves(
        name_hashes=name_hashes(Ragged.from_sequences([move.name for move in some])),
        flags=np.array([move.flag for move in some], dtype=np.uint16),
        reference_ids=column([move.contig for move in some]),
        old_positions=old,
        old_ends=old + READ,
        positions=new,
        ends=new + READ,
        scores=numbers,
        second_scores=numbers,
        edit_distances=numbers,
        mismatches=Ragged.from_sequences([f"{move.new}" for move in some]),
        cigars=Ragged.from_lengths(np.full(len(some), READ << 4, dtype=np.uint32), [1] * len(some)),
    )


MOVES = st.lists(
    st.builds(
        Move,
        st.text("ab", min_size=1, max_size=3),
        st.sampled_from(
            [0, 1 | FIRST, 1 | SECOND, 1 | FIRST | 16, SECONDARY, 1 | SUPPLEMENTARY | 64]
        ),
        st.sampled_from([0, 1]),
        st.integers(0, 3),
        st.integers(0, 40),
    ),
    max_size=25,
    unique_by=lambda move: move[:4],
)


def table_of(parts: Sequence[Moves]) -> MoveTable:
    collector = MoveCollector()
    for part in parts:
        collector.add(part)
    return collector.table()


@pytest.fixture(params=[3, 1_000_000], ids=["runs in files", "one run"], autouse=True)
def moves_in_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(move_table, "_MOVES_IN_MEMORY", request.param)
        yield


def all_of(table: MoveTable) -> Moves:
    """Return all moves, sorted as one run."""
    moves = table.take(np.arange(len(table)))
    keys = (moves.old_ends, moves.flags, moves.old_positions, moves.reference_ids)
    return moves.take(np.lexsort((*keys, moves.name_hashes)))


def columns_of(moves: Moves) -> list[list[object]]:
    fixed = [getattr(moves, name) for name in ("name_hashes", "flags", "old_positions", "scores")]
    ragged = [[bytes(row) for row in rows] for rows in (moves.mismatches, moves.cigars)]
    return [*(column.tolist() for column in (*fixed, moves.positions, moves.ends)), *ragged]


@settings(max_examples=60)
@given(MOVES, st.randoms(use_true_random=False))
def test_table_does_not_depend_on_batches(some: list[Move], random: Random) -> None:
    table = table_of([moves_of(some)])
    shuffled = list(some)
    random.shuffle(shuffled)
    cut = random.randint(0, len(some))
    parts = [moves_of(shuffled[:cut]), Moves.none(), moves_of(shuffled[cut:])]
    other = table_of(parts)
    assert columns_of(all_of(table)) == columns_of(all_of(other))
    for move in some:
        hashed = name_hashes(Ragged.from_sequences([move.name]))[0]
        same_name = [x.new for x in some if x.name == move.name]
        assert sorted(other.of_name(hashed).positions.tolist()) == sorted(same_name)
    assert len(table) == len(some)
    assert table.max_left_shift == max([0, *(move.old - move.new for move in some)])


def hits_of(rows: list[Row], table: MoveTable) -> AffectedRecords:
    with Pool(1) as pool:
        return find_moves(encode_block(batch_of(rows), HEADER, pool), table)


@settings(max_examples=60)
@given(MOVES, MOVES, st.integers(0, 3), st.booleans())
def test_lookups_as_in_a_dictionary(
    some: list[Move], others: list[Move], mate: int, has_sa: bool
) -> None:
    """Look up moved and other records, with mates that may have moved."""
    table = table_of([moves_of(some[:9]), moves_of(some[9:])])
    everything = table.take(np.arange(len(table)))
    asked = [*some, *others]
    affected = hits_of([move.row((0, mate), has_sa=has_sa) for move in asked], table)
    own = {move[:4]: move for move in some}
    for row, move in enumerate(asked):
        found = [None if k == NOT_MOVED else k for k in (affected.own[row], affected.mates[row])]
        expected_move = own.get(move[:4])
        assert (found[0] is None) == (expected_move is None)
        if expected_move:
            assert everything.positions[found[0]] == expected_move.new
        mates = [
            other
            for other in some
            if other[0] == move.name
            and other[2:4] == (0, mate)
            and (other.flag ^ move.flag) & SEGMENT
            and not other.flag & (SECONDARY | SUPPLEMENTARY)
        ]
        if not move.flag & 1 or not mates:
            assert found[1] is None
        else:
            assert everything.positions[found[1]] in {other.new for other in mates}
        of_read = [x for x in some if x.name == move.name and not (x.flag ^ move.flag) & SEGMENT]
        assert affected.sa_changes[row] == (has_sa and bool(of_read))


def test_fields_that_a_record_shares_with_its_move() -> None:
    move = Move("read", 1 | FIRST, 0, 100, 90)
    table = table_of([moves_of([move])])
    changes = [
        {},
        {"name": "reads"},
        {"flag": 1 | SECOND},
        {"flag": 1 | 4 | FIRST},
        {"contig": 1},
        {"old": 101},
    ]
    rows = [move._replace(**change).row() for change in changes]
    longer = move.row()
    rows.append(Row(**{**longer.__dict__, "cigar": ((0, 5), (2, 1), (0, 5))}))
    assert (hits_of(rows, table).own != NOT_MOVED).tolist() == [True] + [False] * 6


def test_moves_of_records_and_of_their_mates() -> None:
    """In one run and in several: the same moves at the rows that are returned."""
    reads = [Move(f"read{k}", 1 | FIRST, 0, 100 + k, 90 + 2 * k) for k in range(7)]
    table = table_of([moves_of(reads[:3]), moves_of(reads[3:6]), moves_of(reads[6:])])
    asked = np.array([[6, NOT_MOVED, 0, 2], [NOT_MOVED, 4, 3, NOT_MOVED]])
    gathered = table.gathered(*asked)
    for numbers, rows in zip(asked, (gathered.own, gathered.mates), strict=True):
        has_moved = numbers != NOT_MOVED
        assert (rows != NOT_MOVED).tolist() == has_moved.tolist()
        found = gathered.moves.take(rows[has_moved])
        assert columns_of(found) == columns_of(table.take(numbers[has_moved]))


def test_an_empty_table() -> None:
    for parts in ([], [Moves.none()], [Moves.none(), Moves.none()]):
        table = table_of(parts)
        assert len(table) == 0
        assert table.max_left_shift == 0
        affected = hits_of([Move("read", 1, 0, 5, 5).row(has_sa=True)], table)
        assert not affected.is_changed.any()
        assert affected.own.tolist() == affected.mates.tolist() == [NOT_MOVED]


def test_hashes_of_names() -> None:
    """Equal for equal names at any row; the leading bits spread over the buckets."""
    names = [f"read:{k}" for k in range(4096)]
    hashes = name_hashes(Ragged.from_sequences(names))
    assert len(set(hashes.tolist())) == len(names)
    assert (hashes[::-1] == name_hashes(Ragged.from_sequences(names[::-1]))).all()
    tops = np.bincount((hashes >> np.uint64(52)).astype(np.int64), minlength=4096)
    assert tops.max() < 12
