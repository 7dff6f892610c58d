"""Search of Seide 2012, against a text search of every edit of a read, and against hits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.benchmark import backtracking
from hapgpu.benchmark.backtracking import (
    ADDED,
    LEFT_OUT,
    MATCH,
    MISMATCH,
    backtrack,
    row_count,
)
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED, SearchOptions
from tests.shortread.made_reads import random_bases, reverse_complement, write_fasta
from tests.shortread.search_oracle import pack

Result: TypeAlias = tuple[int, int, int, int]
"""Kind, position in the read, base of the reference, and start of the window."""
Window: TypeAlias = tuple[int, int]
"""Start and end."""

ROOM = 1000
"""Enough for a read of at most 100 bases, which has at most 7 results per base plus one."""
GAPS = {LEFT_OUT: -1, MATCH: 0, MISMATCH: 0, ADDED: 1}
KINDS_OF_HITS = {-1: INSERTION, 0: UNGAPPED, 1: DELETION}


@pytest.fixture(autouse=True)
def room_for_all_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtracking, "MAX_RESULTS", ROOM)


def found_results(index: FMIndexArrays, reads: list[str]) -> list[list[Result]]:
    """Search, and convert rows to positions; two lists per read, one per strand."""
    assert isinstance(index.suffixes, np.ndarray)
    found = backtrack(index, pack(reads))
    return [
        [
            (kind_and_base >> 4, position, kind_and_base & 15, start)
            for first, last, position, kind_and_base in results[:count].tolist()
            for start in index.suffixes[first:last].tolist()
        ]
        for count, results in zip(found.counts.tolist(), found.results, strict=True)
    ]


def expected_results(text: str, read: str) -> Iterator[Result]:
    """Yield the occurrences of every edit that Algorithm 3 tries."""
    yield from ((MATCH, 0, 0, start) for start in occurrences(text, read))
    for position, own in enumerate(read):
        edited = read[:position] + read[position + 1 :]
        yield from ((LEFT_OUT, position, 0, start) for start in occurrences(text, edited))
        for base, letter in enumerate("ACGT"):
            if letter == own:
                continue
            edited = read[:position] + letter + read[position + 1 :]
            yield from ((MISMATCH, position, base, start) for start in occurrences(text, edited))
            if position + 1 < len(read):
                edited = read[: position + 1] + letter + read[position + 1 :]
                yield from ((ADDED, position, base, start) for start in occurrences(text, edited))


def occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def windows(results: list[Result], length: int) -> dict[int, set[Window]]:
    """Group the windows of results by kind of hit."""
    by_kind: dict[int, set[Window]] = {kind: set() for kind in KINDS_OF_HITS.values()}
    for kind, _, _, start in results:
        gap = GAPS[kind]
        by_kind[KINDS_OF_HITS[gap]].add((start, start + length + gap))
    return by_kind


def assert_as_edits_and_hits(contigs: list[str], reads: list[str], path: Path) -> None:
    index = build_index(write_fasta(path, contigs), CpuDevice())
    found = found_results(index, reads)
    hits = cpu.search(index, pack(reads), SearchOptions())
    text, offsets = "".join(contigs), index.contigs.offsets
    for number, read in enumerate(reads):
        own = slice(hits.offsets[number], hits.offsets[number + 1])
        columns = zip(hits.strands[own], hits.kinds[own], hits.starts[own], strict=True)
        hit_windows: list[dict[int, set[Window]]] = [windows([], 0), windows([], 0)]
        for strand, kind, start in columns:
            end = int(start) + len(read) + int(kind) - UNGAPPED
            hit_windows[strand][kind].add((int(start), end))
        for strand, oriented in enumerate((read, reverse_complement(read))):
            results = found[2 * number + strand]
            assert len(set(results)) == len(results)
            assert set(results) == set(expected_results(text, oriented))
            found_windows = windows(results, len(read))
            ungapped = {
                window for window in found_windows[UNGAPPED] if in_one_contig(window, offsets)
            }
            assert ungapped == hit_windows[strand][UNGAPPED]
            for kind in (INSERTION, DELETION):
                assert hit_windows[strand][kind] <= found_windows[kind]


def in_one_contig(window: Window, offsets: np.ndarray) -> bool:
    first, last = np.searchsorted(offsets, [window[0], window[1] - 1], side="right")
    return bool(first == last)


def edited_piece(random: Random, text: str, edits: int) -> str:
    length = random.choice([10, 20, 31, 50, 64, 65, 100])
    start = random.randrange(len(text) - length)
    read = text[start : start + length]
    for _ in range(edits):
        position = random.randrange(len(read))
        put = random.choice(["", "A", "C", "G", "T", "AC", "GT"])
        read = read[:position] + put + read[position + 1 :]
    return reverse_complement(read) if random.random() < 0.5 else read


def made_contigs() -> list[str]:
    random = Random(5)  # noqa: S311  (the same reads on every run)
    unique = random_bases(random, 1500)
    repeats = "A" * 30 + "CAG" * 30 + unique[200:500] + "T" * 25 + unique[210:450] + "ACAC" * 9
    return [unique, repeats, reverse_complement(unique[:300])]


def made_reads(count: int) -> list[str]:
    random = Random(6)  # noqa: S311  (data of a test)
    text = "".join(made_contigs())
    reads = [edited_piece(random, text, random.choice([0, 1, 1, 2])) for _ in range(count)]
    return [read for read in reads if len(read) >= 10]


def test_made_reads(tmp_path: Path) -> None:
    assert_as_edits_and_hits(made_contigs(), made_reads(300), tmp_path / "made.fa")


def sequences(letters: str, min_size: int, max_size: int) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=min_size, max_size=max_size)


@st.composite
def references_with_reads(draw: st.DrawFn, letters: str) -> tuple[list[str], list[str]]:
    contigs = draw(st.lists(sequences(letters, 1, 50), min_size=1, max_size=3))
    text = "".join(contigs)
    reads = []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        read = text[start : start + draw(st.integers(8, 30))]
        position = draw(st.integers(0, len(read)))
        read = (
            read[:position]
            + draw(sequences(letters, 0, 2))
            + read[position + draw(st.booleans()) :]
        )
        if len(read) >= 10:
            reads.append(reverse_complement(read) if draw(st.booleans()) else read)
    return contigs, reads


@pytest.mark.parametrize("letters", ["A", "AC", "AT", "ACGT"])
def test_tiny_references(letters: str, tmp_path: Path) -> None:
    @given(references_with_reads(letters))
    def check(case: tuple[list[str], list[str]]) -> None:
        assert_as_edits_and_hits(*case, tmp_path / "tiny.fa")

    check()


def test_results_beyond_the_limit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = build_index(write_fasta(tmp_path / "made.fa", made_contigs()), CpuDevice())
    reads = pack(made_reads(100))
    whole = backtrack(index, reads)
    assert whole.counts.max() > 5
    monkeypatch.setattr(backtracking, "MAX_RESULTS", 5)
    cut = backtrack(index, reads)
    np.testing.assert_array_equal(cut.counts, whole.counts)
    for count, results, all_results in zip(cut.counts, cut.results, whole.results, strict=True):
        np.testing.assert_array_equal(results[:count], all_results[: min(count, 5)])


def test_an_ambiguous_base_matches_nothing(tmp_path: Path) -> None:
    index = build_index(write_fasta(tmp_path / "made.fa", made_contigs()), CpuDevice())
    read = made_contigs()[0][700:740]
    results, _ = found_results(index, [f"{read[:20]}N{read[21:]}"])
    assert results == [(MISMATCH, 20, "ACGT".index(read[20]), 700)]


@pytest.mark.gpu
@pytest.mark.parametrize("max_results", [1, 25, ROOM])
def test_the_same_on_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_results: int
) -> None:
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    from hapgpu.benchmark.cuda import mapping  # noqa: PLC0415  (needs CuPy)
    from hapgpu.shortread.index.cuda import resident_index  # noqa: PLC0415  (needs CuPy)
    from hapgpu.shortread.search.cuda.arrays import DevicePackedReads  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(backtracking, "MAX_RESULTS", max_results)
    monkeypatch.setattr(mapping, "MAX_RESULTS", max_results)
    index = build_index(write_fasta(tmp_path / "made.fa", made_contigs()), CpuDevice())
    reads = pack([*made_reads(1000), "ACGTN" * 4, "N" * 30, "A" * 130])
    expected = backtrack(index, reads)
    with cupy.cuda.Device(0):
        on_device = DevicePackedReads(
            cupy.asarray(reads.words),
            cupy.asarray(reads.word_offsets.astype(np.int32)),
            cupy.asarray(reads.lengths),
            int(reads.word_offsets[-1]),
        )
        counts, results = mapping.backtrack_on_device(
            resident_index(index, CudaDevice(0)), row_count(index), on_device, 0
        )
        counts, results = counts.get(), results.get()
    np.testing.assert_array_equal(counts, expected.counts)
    is_used = np.arange(max_results) < counts[:, None]
    np.testing.assert_array_equal(results[is_used], expected.results[is_used])
