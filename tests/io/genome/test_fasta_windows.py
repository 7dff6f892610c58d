"""FASTA parsed by several threads, against the parser of streams."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.genome import fasta
from hapgpu.io.genome.fasta import FastaRecords, read_fasta
from hapgpu.io.genome.fasta_text import FastaText
from hapgpu.io.genome.fasta_windows import FastaWindows, NotPlainError, plain_file
from hapgpu.runtime.pool import Pool
from tests.example_counts import many

Content = tuple[tuple[str, ...], tuple[str, ...], list[bytes]]

RECORDS = st.lists(
    st.tuples(
        st.text(st.sampled_from("ab \t>é:-1\x1c\x85\u2028"), max_size=8),
        st.text(st.sampled_from("ACgtzN"), max_size=300),
        st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
        st.integers(1, 150),
    ),
    max_size=9,
)
ODD = st.sampled_from([*[""] * 5, " \n", "*", "\n>\n", ">", ">0\n", "\x00", "-\r", "é"])


def content_of(records: FastaRecords) -> Content:
    return records.names, records.descriptions, list(map(bytes, records.sequences))


def outcome_of(read: Callable[[], FastaRecords]) -> Content | str:
    """Return the records or the error."""
    try:
        return content_of(read())
    except InputError as error:
        return str(error)


def windows_of(
    path: Path, threads: int, stretch: int, *, keeps_bases: bool = True
) -> tuple[Content, list[int]] | None:
    """Return the records and what `windows` yields; None if the file is not plain."""
    text = FastaText("f.fa", 1 << 20, None)
    with path.open("rb") as stream, Pool(threads) as pool:
        file = plain_file(stream)
        if file is None:
            return None
        windows = FastaWindows(file, text, pool, stretch, keeps_bases=keeps_bases)
        try:
            longest = list(windows.windows())
        except NotPlainError:
            return None
    ends = np.cumsum([0, *text.lengths])
    bases = [bytes(windows.bases[start:end]) for start, end in pairwise(ends)]
    return (tuple(text.descriptions), tuple(text.descriptions.values()), bases), longest


def write_records(path: Path, records: list[tuple[str, str, str, int]], odd: str, at: int) -> Path:
    parts = []
    for number, (header, bases, end, width) in enumerate(records):
        parts.append(f">{number if at % 5 else number % 7}{header}{end}")
        parts += [bases[at : at + width] + end for at in range(0, len(bases), width)]
    text = "".join(parts)
    at %= len(text) + 1
    path.write_bytes((text[:at] + odd + text[at:]).encode())
    return path


@given(RECORDS, ODD, st.integers(0, 2000), st.integers(1, 5), st.integers(1, 400))
@settings(max_examples=many(400))
def test_threads_and_stretches_do_not_matter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: list[tuple[str, str, str, int]],
    odd: str,
    at: int,
    threads: int,
    stretch: int,
) -> None:
    """The same records, or the same error, for any limits."""
    path = write_records(tmp_path / "f.fa", records, odd, at)
    monkeypatch.setattr(FastaWindows.__init__, "__defaults__", (stretch,))
    for limits in ({}, {"max_record": 9}, {"max_bases": 40}, {"max_bases": 1000}):
        read = partial(read_fasta, path, allow_empty=True, **limits)
        for uncounted in (1 << 28, 30):
            monkeypatch.setattr(fasta, "_MAX_UNCOUNTED", uncounted)
            with Pool(threads) as pool:
                assert outcome_of(partial(read, pool=pool)) == outcome_of(read)


@given(RECORDS, st.integers(1, 5), st.integers(1, 400))
@example([("", "ACGT" * 70, "\n", 300)], 3, 100)
@example([("", "ACGT" * 70, "\r\n", 60), ("a long header", "", "\n", 1)], 2, 2)
@settings(max_examples=many(300))
def test_plain_records_are_parsed_in_windows(
    tmp_path: Path, records: list[tuple[str, str, str, int]], threads: int, stretch: int
) -> None:
    """Only files that the parser of streams reads without an error are plain."""
    path = write_records(tmp_path / "f.fa", records, "", 1)
    expected = outcome_of(partial(read_fasta, path, allow_empty=True))
    found = windows_of(path, threads, stretch)
    if found is None:
        assert isinstance(expected, str)
    else:
        assert found[0] == expected
        counted = windows_of(path, threads, stretch, keeps_bases=False)
        assert counted is not None
        assert counted[0][:2] == expected[:2]
        assert counted[1] == found[1]
        assert set(counted[0][2]) <= {b""}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [60, 300_000])
def test_windows_of_the_usual_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, width: int
) -> None:
    """Several windows, shared evenly; lines of a width that does not divide a block."""
    rng = np.random.default_rng(5)
    bases = rng.choice(np.frombuffer(b"ACGTNacgt", np.uint8), 2_000_001).tobytes()
    lines = [bases[at : at + width] for at in range(0, len(bases), width)]
    path = tmp_path / "f.fa"
    path.write_bytes(b">a x\n" + b"\n".join(lines) + b"\n>b\n" + b"\n".join(lines[:9]))
    monkeypatch.setattr(FastaWindows.__init__, "__defaults__", (1 << 19,))
    shares = []
    scan = FastaWindows._scan

    def noted(self: FastaWindows, text: np.ndarray, at: int) -> object:
        shares.append(text.size)
        return scan(self, text, at)

    monkeypatch.setattr(FastaWindows, "_scan", noted)
    with Pool(threads) as pool:
        records = read_fasta(path, pool=pool)
    assert content_of(records) == (("a", "b"), ("x", ""), [bases, b"".join(lines[:9])])
    assert sum(shares) == path.stat().st_size
    assert max(shares) <= 1 << 19
    assert len(shares) > threads


def test_other_files_are_read_as_streams(tmp_path: Path) -> None:
    """Each of these is not plain; `read_fasta` reads it nevertheless."""
    path = tmp_path / "f.fa"
    for text in ("\n>a\nAC\n", ">a\n AC\n", ">a\nAC\t\n>b\nA\n"):
        path.write_text(text)
        assert windows_of(path, 2, 1 << 20) is None
        with Pool(2) as pool:
            assert bytes(read_fasta(path, pool=pool).sequences[0]) == b"AC"
    path.write_bytes(b"")
    assert windows_of(path, 2, 1 << 20) is None


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "f.fa"
    path.write_text(">a\nACGT\n")
    with path.open("rb") as stream, Pool(2) as pool:
        file = plain_file(stream)
        assert file is not None
        windows = FastaWindows(file._replace(end=99), FastaText("f.fa", 99, None), pool)
        with pytest.raises(NotPlainError):
            list(windows.windows())


def test_too_little_memory_for_the_size_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream stores the bases only, and stops at the first error."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    path = tmp_path / "f.fa"
    path.write_text(">a\nACGT\nA*\n")
    monkeypatch.setattr(fasta, "FastaWindows", fail)
    with Pool(2) as pool, pytest.raises(InputError, match=re.escape("f.fa, line 3: '*' in")):
        read_fasta(path, pool=pool)
