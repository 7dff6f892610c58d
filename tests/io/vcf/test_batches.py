"""Batches of records: any lines against `record_of`, and parts of batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.vcf.batches import END, GENOTYPES, VcfBatch
from hapgpu.io.vcf.records import FIXED_COLUMNS, MalformedError, VcfRecord, record_of
from hapgpu.io.vcf.source import ParsedLines, line_ends_of, parse_lines
from tests.example_counts import many

TEXTS = ["", ".", "A", "acgtN", "R", "*", "<", ">", "<>", "<D>", "A[1:2[", "]1:2]A", "A.", "\u00e9"]
POSITIONS = [
    "0",
    "1",
    "007",
    "5",
    "2147483647",
    "2147483648",
    "9" * 30,
    "-1",
    "+1",
    "1.0",
    "\u0665",
]


def columns() -> st.SearchStrategy[list[str]]:
    alternatives = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3).map(",".join)
    some = st.sampled_from([".", "x", "", "\u00e9", "x y", "DP=3;X"])
    fixed = st.tuples(
        st.sampled_from(["c", "c", "c", "d", ""]),
        st.sampled_from(POSITIONS),
        some,
        st.sampled_from(TEXTS),
        st.one_of(alternatives, st.sampled_from(["C", "C,G", "."])),
        *[some] * 3,
    ).map(list)
    return st.builds(
        lambda first, more, cut: [*first, *more][: len(first) + len(more) - cut],
        fixed,
        st.lists(st.sampled_from(["GT", "0|1", "", "."]), max_size=4),
        st.sampled_from([0, 0, 0, 1, 3]),
    )


def sound_columns() -> st.SearchStrategy[list[str]]:
    alternatives = st.lists(
        st.sampled_from(["C", "acGT", "*", "<DEL>", "A[1:2[", ".C", "N"]), min_size=1, max_size=3
    )
    return st.builds(
        lambda position, reference, alts, more: [
            *("c", str(position), ".", reference, ",".join(alts), ".", "q10", "DP=3"),
            *more,
        ],
        st.integers(0, 2**31 - 1),
        st.sampled_from(["A", "acn", "R"]),
        st.one_of(alternatives, st.just(["."])),
        st.sampled_from([["GT", "0|1", "./."], ["GT:PS", "0|1:4", "\u00e9"]]),
    )


def parsed(text: bytes, samples: int) -> tuple[int, ParsedLines]:
    """Parse lines as if no other line was before each of them; return how many are sound."""
    array = np.frombuffer(text, dtype=np.uint8)
    ends = line_ends_of(array)
    out = ParsedLines.allocated(ends.size)
    for row in range(ends.size):
        contig = np.frombuffer(b"c", dtype=np.uint8)
        if parse_lines(array, ends[: row + 1], row, -1, contig, samples, out) == row:
            return row, out
    return ends.size, out


def fields_of(text: bytes, offsets: list[int]) -> list[str]:
    fixed = [text[offsets[k] : offsets[k + 1] - 1] for k in range(FIXED_COLUMNS)]
    parts = [*fixed, text[offsets[GENOTYPES] : offsets[END]]]
    return [part.decode("utf-8", "surrogateescape") for part in parts]


def check_row(text: bytes, out: ParsedLines, row: int, record: VcfRecord) -> None:
    assert record.contig == "c"
    assert record.start == out.starts[row]
    assert len(record.alternatives) == out.alternatives[row]
    assert [*record.columns, record.genotypes] == fields_of(text, out.columns[row].tolist())


@settings(max_examples=many(400))
@given(columns(), st.integers(0, 3), st.sampled_from(["\n", "", "\r\n", "\r\r\n"]))
def test_any_line_is_accepted_as_by_record_of(line: list[str], samples: int, end: str) -> None:
    text = ("\t".join(line) + end).encode()
    count, out = parsed(text, samples)
    try:
        record = record_of("line 1", text.decode().removesuffix("\n"), samples)
    except MalformedError:
        assert count == 0
        return
    assert count == (record.contig == "c" and len(text) > 0)
    if count:
        check_row(text, out, 0, record)


def batch_of(lines: list[list[str]], numbers: list[int]) -> VcfBatch:
    text = "".join("\t".join(line) + "\n" for line in lines).encode()
    count, out = parsed(text, 2)
    assert count == len(lines)
    array = np.frombuffer(text, dtype=np.uint8)
    return VcfBatch("c", "line", np.array(numbers, dtype=np.int64), array, *out)


@given(st.data(), st.lists(sound_columns(), max_size=6))
def test_parts_of_batches_have_the_same_records(
    data: st.DataObject, lines: list[list[str]]
) -> None:
    numbers = [7 + 2 * k for k in range(len(lines))]
    batch = batch_of(lines, numbers)
    records = [
        record_of(f"line {number}", "\t".join(line), 2)
        for number, line in zip(numbers, lines, strict=True)
    ]
    assert list(batch) == records
    kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    taken = batch.take(np.array(kept, dtype=np.bool_))
    expected = [record for record, is_kept in zip(records, kept, strict=True) if is_kept]
    assert list(taken) == expected
    cut = data.draw(st.integers(0, len(lines)))
    parts = [batch[:cut], batch[cut:], taken]
    assert list(VcfBatch.concatenate(parts)) == [*records, *expected]
    assert [len(record.reference) for record in records] == batch.reference_lengths.tolist()


def test_a_selection_keeps_no_other_text() -> None:
    lines = [["c", "5", ".", "A", "C", ".", ".", "x" * 1000, "GT", "0|1", "./."]] * 9
    batch = batch_of(lines, list(range(9)))
    taken = batch.take(np.arange(9) == 4)
    assert taken.text.size < 1100
    assert taken[0] == batch[4]
    assert VcfBatch.concatenate([taken, taken]).text.size < 2200


def test_no_records() -> None:
    empty = VcfBatch.empty("c")
    assert list(empty) == []
    assert list(VcfBatch.concatenate([empty, empty])) == []


@pytest.mark.parametrize(
    ("positions", "count"), [([5, 5, 7], 3), ([5, 4], 1), ([0, 0, 1], 3), ([2, 1, 3], 1)]
)
def test_parsing_stops_at_a_smaller_position(positions: list[int], count: int) -> None:
    text = "".join(f"c\t{position}\t.\tA\tC\t.\t.\t.\n" for position in positions).encode()
    array = np.frombuffer(text, dtype=np.uint8)
    ends = line_ends_of(array)
    out = ParsedLines.allocated(ends.size)
    contig = np.frombuffer(b"c", dtype=np.uint8)
    assert parse_lines(array, ends, 0, -1, contig, 0, out) == count
    assert parse_lines(array, ends, 0, 2**31, contig, 0, out) == 0
