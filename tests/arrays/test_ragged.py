"""Batches against lists of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.batches import AlignmentBatch, PairBatch, ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of

ROWS = st.lists(st.binary(max_size=6), max_size=8)
SOME_ROWS = st.lists(st.binary(max_size=6), min_size=1, max_size=8)


def as_list(ragged: Ragged) -> list[bytes]:
    return [row.tobytes() for row in ragged]


def assert_whole(ragged: Ragged) -> None:
    """Check that offsets start at 0, do not decrease, and end with the data."""
    assert ragged.offsets.dtype == np.int64
    assert ragged.offsets[0] == 0
    assert ragged.offsets[-1] == ragged.data.size
    assert (ragged.lengths >= 0).all()


@given(ROWS)
def test_rows_in_are_rows_out(rows: list[bytes]) -> None:
    ragged = Ragged.from_sequences(rows)
    assert_whole(ragged)
    assert ragged.data.dtype == np.uint8
    assert as_list(ragged) == rows
    assert len(ragged) == len(rows)
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    again = Ragged.from_lengths(ragged.data, ragged.lengths)
    assert as_list(again) == rows


def test_text_is_ascii() -> None:
    assert as_list(Ragged.from_sequences(["ACGT", b"acgt", ""])) == [b"ACGT", b"acgt", b""]
    with pytest.raises(UnicodeEncodeError):
        Ragged.from_sequences(["é"])


@pytest.mark.parametrize("names", [[], ["chr1", "", "2"], ["é", "a\udcffb"], ["a\0b", "c"]])
def test_names(names: list[str]) -> None:
    expected = [name.encode("utf-8", "surrogateescape") for name in names]
    assert as_list(Ragged.from_names(names)) == expected


@given(SOME_ROWS, st.data())
def test_take_by_row_numbers(rows: list[bytes], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20))
    taken = Ragged.from_sequences(rows).take(np.array(numbers, dtype=np.int64))
    assert_whole(taken)
    assert as_list(taken) == [rows[number] for number in numbers]


@given(ROWS, st.data())
def test_take_by_mask(rows: list[bytes], data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    taken = Ragged.from_sequences(rows).take(np.array(mask, dtype=np.bool_))
    assert_whole(taken)
    assert as_list(taken) == [row for row, kept in zip(rows, mask, strict=True) if kept]


@given(ROWS, st.data())
def test_slice_shares_memory(rows: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    end = data.draw(st.integers(start, len(rows)))
    ragged = Ragged.from_sequences(rows)
    part = ragged[start:end]
    assert_whole(part)
    assert as_list(part) == rows[start:end]
    assert not part.data.size or np.shares_memory(part.data, ragged.data)


def test_empty_rows_may_start_anywhere() -> None:
    gathered = Ragged.gather(np.empty(0, dtype=np.uint8), np.array([5, -1]), np.zeros(2, np.int64))
    assert gathered.to_list() == [[], []]


@given(st.binary(min_size=1, max_size=30), st.data())
def test_gather_takes_rows_from_anywhere(content: bytes, data: st.DataObject) -> None:
    bounds = st.tuples(st.integers(0, len(content)), st.integers(0, len(content))).map(sorted)
    spans = data.draw(st.lists(bounds, max_size=8))
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    lengths = np.array([end - start for start, end in spans], dtype=np.int64)
    gathered = Ragged.gather(np.frombuffer(content, dtype=np.uint8), starts, lengths)
    assert_whole(gathered)
    assert as_list(gathered) == [content[start:end] for start, end in spans]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_concatenate(parts: list[list[bytes]]) -> None:
    whole = Ragged.concatenate([Ragged.from_sequences(part) for part in parts])
    assert_whole(whole)
    assert as_list(whole) == [row for part in parts for row in part]


def test_other_types_are_kept() -> None:
    cigars = Ragged.from_lengths(np.array([16, 33, 20], dtype=np.uint32), [1, 0, 2])
    parts = (cigars.take(np.array([2, 0])), cigars[1:3], Ragged.concatenate([cigars] * 2))
    assert {part.data.dtype for part in parts} == {np.dtype(np.uint32)}


@given(SOME_ROWS, st.integers(-20, 20))
def test_indices_as_in_a_list(rows: list[bytes], index: int) -> None:
    ragged = Ragged.from_sequences(rows)
    if -len(rows) <= index < len(rows):
        assert ragged[index].tobytes() == rows[index]
    else:
        with pytest.raises(IndexError, match=f"row {index} of {len(rows)}"):
            ragged[index]


def test_offsets_do_not_wrap() -> None:
    lengths = np.full(3, 2**31 - 1, dtype=np.int32)
    assert offsets_of(lengths).tolist() == [0, 2**31 - 1, 2**32 - 2, 3 * (2**31 - 1)]


def reads(count: int) -> ReadBatch:
    """Make reads with the number of the read in every column."""
    numbers = np.arange(count)

    def ragged(dtype: type[np.generic]) -> Ragged:
        return Ragged.from_lengths(np.repeat(numbers, numbers).astype(dtype), numbers)

    return ReadBatch(
        names=ragged(np.uint8),
        flags=numbers.astype(np.uint16),
        reference_ids=numbers.astype(np.int32),
        positions=numbers.astype(np.int32),
        mapping_qualities=numbers.astype(np.uint8),
        cigars=ragged(np.uint32),
        mate_reference_ids=numbers.astype(np.int32),
        mate_positions=numbers.astype(np.int32),
        template_lengths=numbers.astype(np.int32),
        bases=ragged(np.uint8),
        qualities=ragged(np.uint8),
        tags=ragged(np.uint8),
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (np.array([3, 0, 3]), [3, 0, 3]),
        (np.array([False, True, False, True, True]), [1, 3, 4]),
        (np.array([], dtype=np.int64), []),
    ],
    ids=["numbers", "mask", "none"],
)
def test_take_reads_keeps_columns_together(rows: np.ndarray, expected: list[int]) -> None:
    batch = reads(5)
    taken = batch.take(rows)
    assert len(taken) == len(expected)
    for name in ReadBatch.__slots__:
        column, before = getattr(taken, name), getattr(batch, name)
        if isinstance(column, Ragged):
            assert [row.tolist() for row in column] == [[k] * k for k in expected], name
            assert column.data.dtype == before.data.dtype
        else:
            assert column.tolist() == expected, name
            assert column.dtype == before.dtype


def test_concatenate_reads_keeps_columns_together() -> None:
    batch = reads(4)
    empty = batch.take(np.array([], dtype=np.int64))
    whole = ReadBatch.concatenate([batch, empty, batch.take(np.array([3, 1]))])
    expected = [0, 1, 2, 3, 3, 1]
    assert len(whole) == len(expected)
    for name in ReadBatch.__slots__:
        column, before = getattr(whole, name), getattr(batch, name)
        if isinstance(column, Ragged):
            assert_whole(column)
            assert [row.tolist() for row in column] == [[k] * k for k in expected], name
            assert column.data.dtype == before.data.dtype
        else:
            assert column.tolist() == expected, name
            assert column.dtype == before.dtype


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=10)


def pair_batch(pairs: list[tuple[int, int]]) -> PairBatch:
    index = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return PairBatch(
        Ragged.from_sequences(["A", "CC", "", "TTT"]),
        Ragged.from_sequences(["", "a", "cc", "ggg", "a"]),
        np.ascontiguousarray(index[:, 0]),
        np.ascontiguousarray(index[:, 1]),
    )


def sequences(pairs: PairBatch) -> list[tuple[bytes, bytes]]:
    return [
        (pairs.references[i].tobytes(), pairs.queries[j].tobytes())
        for i, j in zip(pairs.reference_index, pairs.query_index, strict=True)
    ]


@given(PAIRS)
def test_compact_keeps_pairs_and_drops_the_rest(pairs: list[tuple[int, int]]) -> None:
    batch = pair_batch(pairs)
    compact = batch.compact()
    assert sequences(compact) == sequences(batch)
    assert len(compact.references) == len({i for i, _ in pairs})
    assert len(compact.queries) == len({j for _, j in pairs})
    assert compact.reference_index.dtype == compact.query_index.dtype == np.int32
    expected = [(len(reference), len(query)) for reference, query in sequences(batch)]
    lengths = zip(compact.reference_lengths, compact.query_lengths, strict=True)
    assert list(lengths) == expected


@given(PAIRS.filter(len), st.data())
def test_take_pairs(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=10))
    batch = pair_batch(pairs)
    taken = batch.take(np.array(rows, dtype=np.int64))
    assert len(taken) == len(rows)
    assert sequences(taken) == [sequences(batch)[row] for row in rows]


def test_concatenate_alignments() -> None:
    first = AlignmentBatch(
        np.array([1, 2], np.int32),
        np.array([3, 4], np.int32),
        Ragged.from_lengths(np.array([16, 17, 18], np.uint32), [1, 2]),
    )
    empty = AlignmentBatch(first.scores[:0], first.offsets[:0], first.cigars[0:0])
    whole = AlignmentBatch.concatenate([first, empty, first])
    assert len(whole) == 4
    assert whole.scores.tolist() == [1, 2, 1, 2]
    assert whole.offsets.tolist() == [3, 4, 3, 4]
    assert [row.tolist() for row in whole.cigars] == [[16], [17, 18]] * 2


@given(ROWS, st.data())
def test_slices_as_of_a_list(rows: list[bytes], data: st.DataObject) -> None:
    part = data.draw(st.slices(len(rows)))
    found = Ragged.from_sequences(rows)[part]
    assert_whole(found)
    assert as_list(found) == rows[part]


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=4), max_size=6))
def test_lists_of_numbers(rows: list[list[int]]) -> None:
    data = np.array([number for row in rows for number in row], dtype=np.uint32)
    found = Ragged.from_lengths(data, [len(row) for row in rows]).to_list()
    assert found == rows
    assert all(type(number) is int for row in found for number in row)


def test_a_number_of_numpy_is_an_index() -> None:
    ragged = Ragged.from_sequences(["A", "CG"])
    assert ragged[np.int64(-1)].tobytes() == b"CG"
    with pytest.raises(TypeError):
        _ = ragged["1"]


def test_repr_is_short() -> None:
    cigars = Ragged.from_lengths(np.arange(6, dtype=np.uint32), [1, 0, 2, 1, 1, 1])
    assert repr(cigars) == "Ragged(6 rows of uint32: [[0], [], [1, 2], [3], ...])"
    assert repr(cigars[:2]) == "Ragged(2 rows of uint32: [[0], []])"
    assert repr(cigars[:0]) == "Ragged(0 rows of uint32: [])"
    long = repr(Ragged.from_lengths(np.arange(1000), [1000]))
    assert long == f"Ragged(1 rows of int64: [[{', '.join(map(str, range(16)))}, ...]])"
