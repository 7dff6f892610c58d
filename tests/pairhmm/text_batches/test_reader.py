"""Text batches read, against the data written and against a simple reader in Python."""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.text_batches import lines
from hapgpu.pairhmm.text_batches import reader as text_batches_reader
from hapgpu.pairhmm.text_batches.reader import read_hmm_batches
from tests.example_counts import many
from tests.pairhmm.text_batches.made_texts import (
    EDITS,
    GROUPS,
    PRINTABLE,
    Group,
    as_written,
    edited,
    text_of,
)

WHOLE_TEXT = 1 << 23


def groups_of(path: Path, batch_cells: int = 1 << 30) -> list[Group]:
    return [
        group
        for batch in read_hmm_batches(str(path), batch_cells=batch_cells)
        for group in as_written(batch)
    ]


def batches_of(
    text: bytes, *, batch_cells: int = 1 << 30, text_bytes: int = WHOLE_TEXT
) -> list[HmmBatch]:
    """Read from standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
        patch.setattr(text_batches_reader, "_PIECE_BYTES", text_bytes)
        return list(read_hmm_batches("-", batch_cells=batch_cells))


def plainly_read(text: bytes) -> list[Group] | None:
    """Read line by line; return None if the text is malformed or empty."""
    lines = [re.findall(rb"[^ \t\r]+", line) for line in text.removesuffix(b"\n").split(b"\n")]
    groups = []
    while lines:
        header = lines.pop(0)
        if not header:
            continue
        if len(header) != 2 or not all(re.fullmatch(rb"\d{1,10}", count) for count in header):
            return None
        r, h = map(int, header)
        reads, haplotypes, lines = lines[:r], lines[r : r + h], lines[r + h :]
        if len(reads) < r or len(haplotypes) < h or any(len(row) != 1 for row in haplotypes):
            return None
        if any(len(row) != 5 or len({len(field) for field in row}) > 1 for row in reads):
            return None
        if not {letter for row in reads + haplotypes for letter in b"".join(row)} <= set(PRINTABLE):
            return None
        groups.append(([tuple(row) for row in reads], [row[0] for row in haplotypes]))
    return groups or None


def write_bgzf(path: Path, text: bytes) -> None:
    with pysam.BGZFile(str(path), "w") as stream:
        stream.write(text)


def write_plain(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def write_gzip(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text))


WRITERS = [write_plain, write_gzip, write_bgzf]


@pytest.mark.parametrize(
    ("name", "batches", "reads", "haplotypes", "pairs", "cells"),
    [
        ("tiny.in", 3, 166, 6, 332, 492_820),
        ("10s.in", 7, 439, 40, 3_550, 62_380_634),
        ("1m.in.gz", 110, 7_026, 406, 29_307, 420_144_629),
    ],
)
def test_real_files(
    data_dir: Path, name: str, batches: int, reads: int, haplotypes: int, pairs: int, cells: int
) -> None:
    path = data_dir / "pairhmm" / name
    found = list(read_hmm_batches(str(path)))
    assert sum(len(batch) for batch in found) == batches
    assert sum(len(batch.reads) for batch in found) == reads
    assert sum(len(batch.haplotypes) for batch in found) == haplotypes
    assert sum(batch.pairs for batch in found) == pairs
    assert sum(batch.cells for batch in found) == cells
    stored = path.read_bytes()
    text = gzip.decompress(stored) if name.endswith(".gz") else stored
    assert groups_of(path) == plainly_read(text)


def test_dtypes() -> None:
    (batch,) = batches_of(b"1 1\nA I I I +\nAC\n")
    for column in (*batch.reads.qualities, batch.reads.bases.data, batch.haplotypes.data):
        assert column.dtype == np.uint8
    offsets = (batch.reads.bases, batch.haplotypes)
    for column in (*(rows.offsets for rows in offsets), batch.read_offsets):
        assert column.dtype == np.int64
    assert [column.tolist() for column in batch.reads.qualities] == [[40], [40], [40], [10]]


@settings(max_examples=many(300))
@given(
    groups=GROUPS,
    text_bytes=st.integers(1, 300),
    batch_cells=st.integers(1, 400),
    compressed=st.booleans(),
)
def test_round_trip(
    groups: list[Group], text_bytes: int, batch_cells: int, *, compressed: bool
) -> None:
    text = text_of(groups)
    batches = batches_of(
        gzip.compress(text) if compressed else text, batch_cells=batch_cells, text_bytes=text_bytes
    )
    assert [group for batch in batches for group in as_written(batch)] == groups
    assert all(len(batch) for batch in batches)
    assert all(batch.cells <= batch_cells or len(batch) == 1 for batch in batches)


@settings(max_examples=many(300))
@given(
    groups=GROUPS,
    newline=st.sampled_from([b"\n", b"\r\n", b" \n", b"\t \r\n"]),
    blank=st.sampled_from([b" ", b"\t", b"  ", b" \t"]),
    gap=st.sampled_from([b"", b"\n", b" \r\n\n", b"\t\n"]),
    last=st.sampled_from([b"", b"\n", b"\n\n \n", b" "]),
    text_bytes=st.integers(1, 300),
)
def test_layout_does_not_matter(
    groups: list[Group], newline: bytes, blank: bytes, gap: bytes, last: bytes, text_bytes: int
) -> None:
    text = gap + gap.join(text_of([group], newline, blank) for group in groups)
    batches = batches_of(text.rstrip() + last, text_bytes=text_bytes)
    assert [group for batch in batches for group in as_written(batch)] == groups


@settings(max_examples=many(250))
@given(groups=GROUPS, edits=EDITS, text_bytes=st.integers(1, 300))
def test_any_text_is_read_right_or_refused(
    groups: list[Group], edits: list[tuple[int, int, bytes]], text_bytes: int
) -> None:
    text = text_of(groups)
    text = edited(text, edits)
    expected = plainly_read(text)
    if expected is None:
        with pytest.raises(InputError):
            batches_of(text, text_bytes=text_bytes)
    else:
        batches = batches_of(text, text_bytes=text_bytes)
        assert [group for batch in batches for group in as_written(batch)] == expected


def test_only_the_spans_of_the_first_fields_are_written() -> None:
    text = np.frombuffer(b"A  CG T\n", dtype=np.uint8)
    spans = np.full((3, 2), -1)
    assert lines._split(text, 0, spans[:2]) == (3, 8)
    assert spans.tolist() == [[0, 1], [3, 5], [-1, -1]]


@pytest.mark.parametrize(("text", "max_record"), [(b"0 1\nACG", 7), (b"0 1\nACG\n0 1\nACG\n", 8)])
def test_the_longest_text_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, max_record: int
) -> None:
    """As many bytes as allowed, without the last newline or before another text batch."""
    monkeypatch.setattr(text_batches_reader, "_PIECE_BYTES", 8)
    path = tmp_path / "batches.in"
    path.write_bytes(text)
    batches = read_hmm_batches(str(path), max_record=max_record)
    assert [group for batch in batches for group in as_written(batch)] == plainly_read(text)


def test_batches_are_filled_up_to_the_limit(tmp_path: Path) -> None:
    read = (b"ACGT", *[b"IIII"] * 4)
    path = tmp_path / "batches.in"
    path.write_bytes(text_of([([read], [b"ACGTA"])] * 5 + [([read] * 9, [b"ACGTA"])] * 2))
    sizes = [len(batch) for batch in read_hmm_batches(str(path), batch_cells=59)]
    assert sizes == [2, 2, 1, 1, 1]
    sizes = [len(batch) for batch in read_hmm_batches(str(path), batch_cells=60)]
    assert sizes == [3, 2, 1, 1]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("text_bytes", [1, 5000, WHOLE_TEXT])
def test_compression_and_text_size_do_not_matter(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path, bytes], None],
    text_bytes: int,
) -> None:
    text = (data_dir / "pairhmm" / "tiny.in").read_bytes()
    monkeypatch.setattr(text_batches_reader, "_PIECE_BYTES", text_bytes)
    path = tmp_path / "batches"
    write(path, text)
    assert groups_of(path) == plainly_read(text)


GOOD = b"1 1\nAC II II II ++\nACG\n\n"
READ = b"AC II II II ++\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b">chr1\nACGT\n", 5, "found '>chr1'; give a file of text batches"),
        (b"1\n", 5, "numbers of reads and haplotypes of a text batch, at most 2,147,483,647,"),
        (b"1 2 3\n", 5, "found '1 2 3'"),
        (b"1 x\n", 5, "found '1 x'"),
        (b"1.0 1\n", 5, "found '1.0 1'"),
        (b"-1 1\n", 5, "found '-1 1'"),
        (b"1 2147483648\n", 5, "found '1 2147483648'"),
        (b"1 2147483647\n" + READ + b"ACG\n", 5, "the file ends within the text batch"),
        (b"1 99999999999999999999999\n", 5, "found '1 99999999999999999999999'"),
        (b"\x00\xff" + b"x" * 999 + b"\n", 5, f"found '\\x00\\xff{'x' * 38}'..."),
        (b"x" * 40 + b"\n", 5, f"found '{'x' * 40}'; give"),
        (b"1 1\nAC II II II\nACG\n", 6, "this line has 4; complete it, or correct the counts"),
        (b"1 1\nAC II II II ++ ++\nACG\n", 6, "this line has 6"),
        (b"1 1\n\n" + READ + b"ACG\n", 6, "a read is five strings"),
        (b"1 1\nACG\n" + READ, 6, "this line has 1"),
        (b"2 1\n" + READ + b"ACG\n", 7, "a read is five strings"),
        (b"1 1\n" + READ * 2 + b"ACG\n", 7, "a haplotype is one string, this line has 5"),
        (b"1 1\n" + READ + b"\nACG\n", 7, "a haplotype is one string, this line has 0"),
        (b"1 2\n" + READ + b"ACG\n1 1\n", 8, "a haplotype is one string, this line has 2"),
        (b"1 1\n" + READ + b"ACG\nACG\n", 8, "or correct the previous counts"),
        (b"1 1\nAC II I II ++\nACG\n", 6, "must have equal lengths, these have 2, 2, 1, 2, 2"),
        (b"1 1\nACG II II II ++\nACG\n", 6, "must have equal lengths, these have 3, 2, 2, 2, 2"),
        (b"1 1\nAC I\x1f II II ++\nACG\n", 6, "invalid character '\\x1f' in the base qualities"),
        (b"1 1\nAC ~\x7f II II ++\nACG\n", 6, "character '\\x7f' in the base qualities"),
        (b"1 1\nAC II \x7fI II ++\nACG\n", 6, "'\\x7f' in the insertion qualities"),
        (b"1 1\nAC II II I\xff ++\nACG\n", 6, "'\\xff' in the deletion qualities"),
        (b"1 1\nAC II II II \x00+\nACG\n", 6, "'\\x00' in the continuations; use printable ones"),
        (b"1 1\nA\x01 II II II ++\nACG\n", 6, "invalid character '\\x01' in the bases"),
        (b"1 1\n" + READ + b"AC\x80\n", 7, "invalid character '\\x80' in the bases"),
        (b"1 1\n", 5, "the file ends within the text batch that starts here with '1 1'"),
        (b"1 2\n" + READ + b"ACG\n", 5, "the file ends within the text batch"),
        (b"0 9\n" + b"ACG\n" * 7 + b"A", 5, "the file ends within the text batch"),
        (b"1 1\n" + READ + b"ACG\n1 1", 8, "the file ends within the text batch"),
        (b"1 1\nAC II II", 6, "a read is five strings"),
    ],
)
@pytest.mark.parametrize("text_bytes", [1, 40, WHOLE_TEXT])
def test_bad_line_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: bytes,
    line: int,
    message: str,
    text_bytes: int,
) -> None:
    monkeypatch.setattr(text_batches_reader, "_PIECE_BYTES", text_bytes)
    path = tmp_path / "batches.in"
    path.write_bytes(GOOD + text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        groups_of(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert "\n" not in str(caught.value)


def test_first_fault_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "batches.in"
    path.write_bytes(GOOD + b"1 1\nA\x01 II II II ++\nACG\n" + GOOD + b"nonsense\n")
    with pytest.raises(InputError, match="line 6: invalid character"):
        groups_of(path)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("text", [b"", b"\n", b" \r\n\n  "])
def test_no_text_batches(tmp_path: Path, write: Callable[[Path, bytes], None], text: bytes) -> None:
    path = tmp_path / "batches"
    write(path, text)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: no text batches"):
        groups_of(path)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.in: no such file"):
        groups_of(tmp_path / "absent.in")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory"):
        groups_of(tmp_path)


@pytest.mark.parametrize("text_bytes", [1, 1000, WHOLE_TEXT])
def test_damaged_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text_bytes: int) -> None:
    monkeypatch.setattr(text_batches_reader, "_PIECE_BYTES", text_bytes)
    rng = np.random.default_rng(1)
    haplotypes = [rng.choice(np.frombuffer(b"ACGT", np.uint8), 100).tobytes() for _ in range(200)]
    whole = gzip.compress(text_of([([], haplotypes)] * 5))
    path = tmp_path / "batches.in.gz"
    for size in (2, 9, 500, len(whole) - 9, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="truncated compressed file; copy it again"):
            groups_of(path)
    path.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(InputError, match=r"damaged compressed file .* copy it again"):
        groups_of(path)


def test_bgzf_without_its_closing_block(tmp_path: Path) -> None:
    path = tmp_path / "batches.in.gz"
    write_bgzf(path, GOOD)
    path.write_bytes(path.read_bytes()[:-28])
    with pytest.raises(InputError, match=r"truncated \(no closing EOF block\)"):
        groups_of(path)


def test_standard_input_is_named() -> None:
    with pytest.raises(InputError, match=r"^standard input, line 1: expected the numbers"):
        batches_of(b"ACGT\n")
