"""Blocks of records after the moves, against the same computed column by column."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.decode import block_of
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.realign.projection.move_table import MoveCollector, MoveTable
from hapgpu.realign.projection.moves import Moves, name_hashes
from hapgpu.realign.records.rewriter import Rewriter, Rewritten, WrittenReads
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.runtime.pool import Pool
from tests.example_counts import many
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of
from tests.realign.rewriting import columns_oracle

HEADER = SamHeader.from_references(["one", "chromosome_two"], [2**20, 2**20])
MATCH, INSERTION, DELETION, SOFT_CLIP, HARD_CLIP = 0, 1, 2, 4, 5
UNMAPPED = 4

CIGARS = st.sampled_from(
    [
        ((MATCH, 7),),
        ((SOFT_CLIP, 2), (MATCH, 5)),
        ((HARD_CLIP, 9), (MATCH, 3), (DELETION, 200), (MATCH, 4)),
        ((MATCH, 3), (INSERTION, 2), (MATCH, 2)),
        (),
    ]
)
FLAGS = st.sampled_from([0, 16, 1, 65, 129, 83, 163, 99, 147, 73, 133, 69, 137, 2113, 321, 2179, 4])
TEXTS = st.sampled_from(["", "7M", "3M2D4M", "one,5,+,7M,60,0;", "one,6,-,7M,60,0;x;", "M7", "*"])
TAGS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["AS", "XS", "NM", "OP"]), st.sampled_from("cCsSiI"), st.just(7)),
        st.tuples(st.sampled_from(["NM"]), st.sampled_from("csi"), st.just(-9)),
        st.tuples(st.sampled_from(["MD", "OC", "OA", "MC", "SA", "XA"]), st.just("Z"), TEXTS),
        st.tuples(st.sampled_from(["MC", "SA", "NM", "OA"]), st.just("A"), st.just("x")),
        st.just(("CG", "B", array("I", [7 << 4]))),
        st.just(("ZZ", "B", array("h", [1, 2, 3]))),
    ),
    max_size=7,
)
ROWS = st.builds(
    Row,
    name=st.sampled_from(["a", "b", "longer name"]),
    flag=FLAGS,
    reference=st.sampled_from([0, 0, 1, -1]),
    position=st.sampled_from([4, 5, 6, 20, 16_380, -1]),
    mapping_quality=st.sampled_from([0, 60, 255]),
    cigar=CIGARS,
    mate_reference=st.sampled_from([0, 0, 1, -1]),
    mate_position=st.sampled_from([4, 5, 6, 20, -1]),
    template_length=st.sampled_from([0, 12, -12, 300]),
    bases=st.just("ACGTNAC"),
    qualities=st.sampled_from([None, (255, 1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 7)]),
    tags=TAGS.map(tuple),
)
NEW = st.tuples(
    st.integers(0, 30),
    CIGARS.filter(bool),
    st.sampled_from(["7", "3^ACGT4", ""]),
    st.sampled_from([7, -40_000, 300, -200, -1, 70_000]),
    st.sampled_from([NO_SCORE, 0, -129]),
)
New = tuple[int, tuple[tuple[int, int], ...], str, int, int]


def spans(row: Row) -> int:
    return sum(length for operation, length in row.cigar if operation in (0, 2, 3, 7, 8))


def moves_of(rows: Sequence[Row], new: Sequence[New]) -> Moves:
    def column(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int32)

    positions = [position for position, *_ in new]
    old = column([row.position for row in rows])
    ends = [at + spans(replace(rows[k], cigar=new[k][1])) for k, at in enumerate(positions)]
    return Moves(
        name_hashes=name_hashes(Ragged.from_sequences([row.name for row in rows])),
        flags=np.array([row.flag for row in rows], dtype=np.uint16),
        reference_ids=column([row.reference for row in rows]),
        old_positions=old,
        old_ends=old + column([spans(row) for row in rows]),
        positions=column(positions),
        ends=column(ends),
        scores=column([score for *_, score, _ in new]),
        second_scores=column([score for *_, score in new]),
        edit_distances=column([abs(score) for *_, score, _ in new]),
        mismatches=Ragged.from_sequences([text for _, _, text, _, _ in new]),
        cigars=Ragged.from_lengths(
            np.array([n << 4 | op for _, cigar, *_ in new for op, n in cigar], dtype=np.uint32),
            [len(cigar) for _, cigar, *_ in new],
        ),
    )


def table_of(rows: Sequence[Row], new: Sequence[New]) -> MoveTable:
    collector = MoveCollector()
    for row, one in zip(rows, new, strict=True):
        collector.add(moves_of([row], [one]))
    return collector.table()


def block_from(rows: Sequence[Row], padding: int = 0) -> RecordBlock:
    """Return records; the unused bits after an odd number of bases are `padding`."""
    with Pool(1) as pool:
        block = encode_block(batch_of(rows), HEADER, pool)
        data = block.data.copy()
        for tags, bases in zip(block.layout.tag_starts, block.layout.base_counts, strict=True):
            if bases % 2:
                data[tags - bases - 1] |= padding
        return block_of(data, len(HEADER.reference_names), pool)


def rewritten(block: RecordBlock, table: MoveTable, *, is_sorted: bool = False) -> Rewritten:
    return Rewriter(table, HEADER, WrittenReads(), "x.bam", is_sorted=is_sorted)(block)


def records_of(found: Rewritten) -> list[bytes]:
    run = found.after
    return [run.data[start:end].tobytes() for start, end in pairwise(run.offsets.tolist())]


@settings(max_examples=many(400), deadline=None)
@given(
    st.lists(ROWS, min_size=1, max_size=8),
    st.lists(ROWS, max_size=3),
    st.lists(NEW, min_size=11, max_size=11),
    st.randoms(use_true_random=False),
    st.sampled_from([0, 5]),
)
def test_records_as_computed_by_columns(
    rows: list[Row], others: list[Row], new: list[New], random: Random, padding: int
) -> None:
    """Some reads of the block move, and some that are not in it."""
    moved = {}
    for row in (*rows, *others):
        if random.random() < 0.6 and not row.flag & UNMAPPED:
            moved.setdefault((row.name, row.flag, row.reference, row.position, spans(row)), row)
    table = table_of(list(moved.values()), new[: len(moved)])
    block = block_from(rows, padding)
    found = rewritten(block, table)
    expected = columns_oracle.rewritten(block, table, HEADER)
    assert records_of(found) == expected
    old = columns_oracle.rewritten(block, MoveTable([]), HEADER)
    assert found.changed >= sum(one != other for one, other in zip(old, expected, strict=True))
    assert found.after.keys.tolist() == block_from_bytes(expected).sort_keys.tolist()


def block_from_bytes(records: Sequence[bytes]) -> RecordBlock:
    with Pool(1) as pool:
        data = np.frombuffer(b"".join(records), dtype=np.uint8)
        return block_of(data, len(HEADER.reference_names), pool)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=12), st.lists(NEW, min_size=12, max_size=12))
def test_a_sorted_block_is_sorted_again(rows: list[Row], new: list[New]) -> None:
    block = block_from(rows)
    rows = [rows[k] for k in np.argsort(block.sort_keys, kind="stable")]
    block = block_from(rows)
    moved = {(row.name, row.flag, row.reference, row.position): row for row in rows[::2]}
    mapped = [row for row in moved.values() if not row.flag & UNMAPPED]
    table = table_of(mapped, new[: len(mapped)])
    unsorted = rewritten(block, table)
    found = rewritten(block, table, is_sorted=True)
    order = np.argsort(unsorted.after.keys, kind="stable")
    assert records_of(found) == [records_of(unsorted)[k] for k in order]
    assert found.after.keys.tolist() == sorted(unsorted.after.keys.tolist())
    keys = block.sort_keys.tolist()
    assert found.old == (keys[0], keys[-1], True)


@pytest.mark.parametrize("elements", [65_535, 65_536, 70_000])
def test_long_cigars(elements: int) -> None:
    """Before, after, and both; the bases of the read are those of the longest."""
    half = elements // 2
    long = ((MATCH, 1), (INSERTION, 1)) * half + ((MATCH, 1),) * (elements % 2)
    length = elements
    row = Row("a", 65, 0, 5, 60, long, 0, 5, 9, "A" * length, None, (("MC", "Z", "5M"),))
    short = replace(row, name="b", cigar=((MATCH, length),))
    mate = replace(row, flag=129)
    rows = [row, short, mate]
    for moved in ([row], [short], [row, short]):
        new: list[New] = [(3, ((MATCH, length),), "7", 9, 8), (4, long, "7", 9, 8)]
        if moved == [short]:
            new = new[1:]
        table = table_of(moved, new[: len(moved)])
        block = block_from(rows)
        found = records_of(rewritten(block, table))
        assert found == columns_oracle.rewritten(block, table, HEADER)


def test_a_record_without_a_name() -> None:
    """It is written with the name `*`, as by samtools."""
    named = block_from([Row("", 0, 0, 5, 60, ((MATCH, 7),), -1, -1, 0, "ACGTNAC", None, ())])
    record = bytearray(named.data.tobytes())
    assert record[12] == 2
    record[12] = 1
    del record[36]
    record[0] -= 1
    block = block_from_bytes([bytes(record)])
    row = Row("", 0, 0, 5, 60, ((MATCH, 7),), -1, -1, 0, "ACGTNAC", None, ())
    table = table_of([row], [(3, ((MATCH, 7),), "7", 9, 8)])
    found = rewritten(block, table)
    assert found.changed == 1
    assert records_of(found) == columns_oracle.rewritten(block, table, HEADER)
    assert records_of(found)[0][36:38] == b"*\0"


def test_records_that_stay() -> None:
    row = Row("a", 0, 0, 5, 60, ((MATCH, 1),), -1, -1, 0, "A", None, ())
    block = block_from([row, replace(row, position=6), replace(row, position=7)])
    found = rewritten(block, MoveTable([]))
    assert not np.shares_memory(found.after.data, block.data)
    assert found.after.bytes.tobytes() == block.data.tobytes()
    some = rewritten(block.take(np.array([2, 0])), MoveTable([]))
    first, _, third = records_of(found)
    assert records_of(some) == [third, first]
    none = rewritten(block.take(np.array([], dtype=np.int64)), MoveTable([]))
    assert none.after.bytes.size == none.changed == 0


def with_move(row: Row, position: int, score: int = 0, header: SamHeader = HEADER) -> bytes:
    """Return a record after it moved to a position, with the same CIGAR."""
    table = table_of([row], [(position, row.cigar, "7", score, NO_SCORE)])
    rewriter = Rewriter(table, header, WrittenReads(), "x.bam", is_sorted=False)
    (record,) = records_of(rewriter(block_from([row])))
    return record


SINGLE = Row("a", 0, 0, 5, 60, ((MATCH, 7),), -1, -1, 0, "ACGTNAC", None, ())


@pytest.mark.parametrize(
    ("score", "field"),
    [
        (-(2**15) - 1, b"ASi\xff\x7f\xff\xff"),
        (-(2**15), b"ASs\x00\x80"),
        (-(2**7) - 1, b"ASs\x7f\xff"),
        (-(2**7), b"ASc\x80"),
        (0, b"ASC\x00"),
        (2**8 - 1, b"ASC\xff"),
        (2**8, b"ASS\x00\x01"),
        (2**16 - 1, b"ASS\xff\xff"),
        (2**16, b"ASI\x00\x00\x01\x00"),
    ],
)
def test_an_integer_field_has_the_smallest_type(score: int, field: bytes) -> None:
    assert field + b"NM" in with_move(SINGLE, 3, score)


@pytest.mark.parametrize(
    ("kind", "distance"),
    [("c", -9), ("C", 200), ("s", -300), ("S", 60_000), ("i", -70_000), ("I", 2**32 - 1)],
)
def test_the_old_alignment_follows_older_ones(kind: str, distance: int) -> None:
    row = replace(SINGLE, tags=(("NM", kind, distance), ("OA", "Z", "x,9,-,7M,30,1;")))
    old = f"x,9,-,7M,30,1;one,6,+,7M,60,{distance};"
    assert with_move(row, 3).endswith(f"OAZ{old}\0".encode())


def test_a_long_name_of_the_first_contig() -> None:
    name = "n" * 500
    header = SamHeader.from_references([name, "two"], [2**20, 2**20])
    assert with_move(SINGLE, 3, header=header).endswith(f"OAZ{name},6,+,7M,60,;\0".encode())


def test_a_longer_text_of_a_supplementary_alignment() -> None:
    """The other alignment of the read has moved, to a longer CIGAR."""
    row = replace(SINGLE, tags=(("SA", "Z", "one,21,-,7M,60,0;"),))
    other = replace(SINGLE, flag=2064, position=20)
    cigar = ((MATCH, 1), (INSERTION, 1)) * 100
    table = table_of([other], [(25, cigar, "100", 9, NO_SCORE)])
    (record,) = records_of(rewritten(block_from([row]), table))
    assert record.endswith(f"SAZone,26,-,{'1M1I' * 100},60,9;\0".encode())


@pytest.mark.parametrize(
    ("flag", "mate_position", "tags", "new", "new_flag"),
    [
        (83, 11, (), 4, 83),  # the read ends at 12, and then where the mate starts
        (83, 11, (), 3, 81),
        (83, 12, (), 4, 81),
        (83, 13, (), 4, 83),  # they did not face each other before
        (99, 0, (("MC", "Z", "6M"),), 6, 99),  # and here, it starts where the mate ends
        (99, 0, (("MC", "Z", "6M"),), 7, 97),
        (99, 0, (("MC", "Z", "5M"),), 6, 97),
        (99, 0, (("MC", "Z", "4M"),), 6, 99),
    ],
)
def test_a_read_that_no_longer_faces_its_mate_is_in_no_proper_pair(
    flag: int, mate_position: int, tags: tuple[tuple[str, str, str], ...], new: int, new_flag: int
) -> None:
    """5' ends at one position face each other."""
    row = replace(SINGLE, flag=flag, mate_reference=0, mate_position=mate_position, tags=tags)
    record = with_move(row, new)
    assert int.from_bytes(record[18:20], "little") == new_flag


@pytest.mark.parametrize(("cigar", "length"), [("10M", 27), ("9S9M2D9N9S", 37), ("1M0I9=", 27)])
def test_template_length_by_the_cigar_of_the_mate(cigar: str, length: int) -> None:
    """From the new start at 3 to the end of the mate, which starts at 20."""
    tags = (("MC", "Z", cigar),)
    row = replace(SINGLE, flag=97, mate_reference=0, mate_position=20, tags=tags)
    record = with_move(row, 3)
    assert int.from_bytes(record[32:36], "little", signed=True) == length
