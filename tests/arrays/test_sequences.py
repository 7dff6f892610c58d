"""Sequences of the Python API: text, bytes, records of pysam and Ragged, and their errors."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import Sequences, checked_rows, sequence_rows
from hapgpu.errors import InputError, UsageError

COMPLEMENTS = str.maketrans("ACGTN", "TGCAN")
BASES = st.text("ACGTN", min_size=1, max_size=20)


def record(bases: str | None, *, reverse: bool = False, qualities: int | None = None) -> object:
    made = pysam.AlignedSegment()
    made.query_sequence = bases
    made.is_reverse = reverse
    if qualities is not None and bases is not None:
        made.query_qualities = array("B", [qualities] * len(bases))
    return made


def texts(rows: Ragged) -> list[str]:
    return [row.tobytes().decode() for row in rows]


@given(st.lists(st.tuples(BASES, st.sampled_from(["text", "bytes", "forward", "reverse"]))))
def test_any_kinds_in_one_list(made: list[tuple[str, str]]) -> None:
    """Records are text as aligned, or as the machine read it."""
    entries: list[object] = []
    sequenced = []
    for bases, kind in made:
        if kind in {"forward", "reverse"}:
            entries.append(record(bases, reverse=kind == "reverse"))
        else:
            entries.append(bases if kind == "text" else bases.encode())
        is_turned = kind == "reverse"
        sequenced.append(bases[::-1].translate(COMPLEMENTS) if is_turned else bases)
    given_rows: Sequences = entries
    assert texts(sequence_rows(given_rows, "read")) == [bases for bases, _ in made]
    assert texts(sequence_rows(given_rows, "read", as_sequenced=True)) == sequenced


class Odd(str):
    """Text whose length is another one."""

    __slots__ = ()

    def __len__(self) -> int:
        return 9


@pytest.mark.parametrize("kind", [str, str.encode, Odd])
def test_lists_of_one_kind(kind: Callable[[str], str | bytes]) -> None:
    entries = [kind(bases) for bases in ("", "ACGT", "\0a", "", "N" * 300)]
    rows = sequence_rows(entries, "read")
    assert texts(rows) == ["", "ACGT", "\0a", "", "N" * 300]
    assert texts(sequence_rows(tuple(entries), "read")) == texts(rows)


def test_a_ragged_is_returned_as_it_is() -> None:
    rows = Ragged.from_sequences(["ACGT", ""])
    assert sequence_rows(rows, "read") is rows


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.int16])
def test_offsets_and_data_of_other_layouts(dtype: type[np.integer[Any]]) -> None:
    """Compiled functions read int64 side by side."""
    data = np.repeat(np.frombuffer(b"ACGTAC", dtype=np.uint8), 2)[::2]
    rows = sequence_rows(Ragged(data, np.array([0, 4, 6], dtype=dtype)), "read")
    assert texts(rows) == ["ACGT", "AC"]
    assert rows.data.flags.c_contiguous
    assert rows.offsets.dtype == np.int64


@pytest.mark.parametrize(
    ("data", "offsets", "message"),
    [
        (b"ACGT", [0, 40_000], "reads: offsets do not go from 0 to 4; correct them"),
        (b"ACGT", [1, 4], "reads: offsets do not go from 0 to 4"),
        (b"ACGT", [0, 3], "reads: offsets do not go from 0 to 4"),
        (b"ACGT", [], "reads: offsets do not go from 0 to 4"),
        (b"ACGT", [0, 3, 1, 4], "reads: row 1 ends before it starts; give ascending offsets"),
        (b"ACGT", [0.0, 4.0], "reads: a Ragged without offsets of whole numbers; give int64"),
        (b"ACGT", [[0, 4]], "reads: a Ragged without offsets of whole numbers"),
    ],
    ids=range(7),
)
def test_a_ragged_that_is_none(data: bytes, offsets: list[Any], message: str) -> None:
    kind = np.int64 if not offsets else None
    given = Ragged(np.frombuffer(data, dtype=np.uint8), np.array(offsets, dtype=kind))
    with pytest.raises(UsageError, match=f"^{message}"):
        sequence_rows(given, "read")
    unlike: Any = Ragged(given.data, given.offsets.tolist())
    with pytest.raises(UsageError, match=r"^reads: a Ragged without offsets of whole numbers"):
        sequence_rows(unlike, "read")
    square = Ragged(given.data.reshape(2, 2), np.array([0, 4]))
    with pytest.raises(UsageError, match=r"^reads: a Ragged without data of one dimension"):
        sequence_rows(square, "read")


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        (["A", 5], UsageError, "read 1: of type int; give str, bytes or pysam.AlignedSegment"),
        ([None], UsageError, "read 0: of type NoneType; give"),
        (["A", "C", record(None)], InputError, "read 2: a record without a sequence; leave it out"),
        (["A", "é"], InputError, "read 1: contains a non-ASCII character; give ASCII text"),
        (["A", b"\x80"], InputError, "read 1: contains a non-ASCII character"),
        ("ACGT", UsageError, "reads: not a list; give a list, even for one read"),
        (b"ACGT", UsageError, "reads: not a list"),
        (record("ACGT"), UsageError, "reads: not a list"),
        (5, UsageError, "reads: not a list"),
        ({"ACGT"}, UsageError, "reads: not a list"),
        (np.array("ACGT"), UsageError, "reads: not a list"),
    ],
    ids=range(11),
)
def test_errors_have_the_row(entries: Sequences, error: type[Exception], message: str) -> None:
    for as_sequenced in (False, True):
        with pytest.raises(error, match=message):
            sequence_rows(entries, "read", as_sequenced=as_sequenced)


def test_empty_sequences_are_refused_where_bases_are_needed() -> None:
    assert len(checked_rows([], "query")) == 0
    with pytest.raises(InputError, match="query 1: no bases; give at least one"):
        checked_rows(["A", "", ""], "query")


def test_pysam_need_not_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pysam")
    assert texts(sequence_rows(["ACGT"], "read")) == ["ACGT"]
    with pytest.raises(UsageError, match="read 0: of type int"):
        sequence_rows([5], "read")
