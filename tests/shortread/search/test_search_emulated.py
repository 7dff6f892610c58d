"""The kernel that searches reads with few candidates, run on the CPU, and the search in steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.cpu import search_step
from hapgpu.shortread.search.hits import SearchLimits, SearchOptions
from tests.emulation.emulator import emulate
from tests.shortread.index_oracle import index_of
from tests.shortread.made_reads import make_contigs, make_reads, reverse_complement, write_fasta
from tests.shortread.search.test_search import references_with_reads
from tests.shortread.search.test_survey_emulated import device_index
from tests.shortread.search_oracle import EVERY_OPTION, in_text, pack

pytest.importorskip("cupy")

CONTIGS = make_contigs()
READS = [read for group in make_reads(CONTIGS, each=12).values() for read in group]


@pytest.fixture(scope="module", params=[False, True], ids=["full", "low_memory"])
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> FMIndexArrays:
    fasta = write_fasta(tmp_path_factory.mktemp("made") / "made.fa", CONTIGS)
    return build_index(fasta, CpuDevice(), low_memory=request.param)


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    from hapgpu.arrays import cuda as arrays  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.index import cuda as index_cuda  # noqa: PLC0415  (as above)
    from hapgpu.shortread.search.cuda import packing, row_search, search  # noqa: PLC0415  (as above)

    monkeypatch.setattr(search, "multiprocessors", lambda _device: 1)
    emulate(monkeypatch, search, packing, row_search, index_cuda, arrays)


def assert_same(
    index: FMIndexArrays, reads: Sequence[str], options: SearchOptions, most: int | None = None
) -> tuple[int, int]:
    """Compare hits and counts with those of the CPU; return the numbers of others and the rest."""
    from hapgpu.shortread.search.cuda.arrays import DeviceTextReads  # noqa: PLC0415  (as above)
    from hapgpu.shortread.search.cuda.search import DeviceSearch  # noqa: PLC0415  (as above)

    packed, letters = pack(reads), DeviceTextReads(*in_text(reads))
    search = DeviceSearch(device_index(index), letters, options, 0, most)
    found, expected = search.hits(), search_step(index, packed, options, SearchLimits())
    np.testing.assert_array_equal(found.exact, expected.exact)
    np.testing.assert_array_equal(found.inexact, expected.inexact)
    if most is None:
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        np.testing.assert_array_equal(found.hits, expected.hits)
    for read in range(len(packed)):
        hits = expected.hits[expected.offsets[read] : expected.offsets[read + 1]][:most]
        start = found.offsets[read]
        np.testing.assert_array_equal(found.hits[start : start + hits.size], hits)
    ends = search.row_ends()
    assert ends[0] == 0
    assert ends[-1] == search.rows
    return int(search._found.other_count[0]), int(search._rest.size)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_made_reads(index: FMIndexArrays, options: SearchOptions) -> None:
    others, rest = assert_same(index, READS, options)
    assert others > 0
    assert rest > 0


def edited(random: np.random.Generator, read: str, letters: str) -> str:
    """Replace, insert or leave out a base, at most twice."""
    for _ in range(random.integers(3)):
        at = int(random.integers(len(read) + 1))
        read = read[:at] + random.choice([*letters, ""]) + read[at + random.integers(2) :]
    return reverse_complement(read) if random.random() < 0.5 else read


@pytest.mark.parametrize("letters", ["A", "AC", "ACG", "ACGT", "ACGTN"])
def test_tiny_references(letters: str) -> None:
    """Repeats, ties, reads across and beyond the ends of contigs, warps with few and many hits."""
    random = np.random.default_rng(len(letters))
    for case in range(16):
        sizes = random.integers(1, 120, random.integers(1, 5))
        contigs = ["".join(random.choice([*letters], size)) for size in sizes]
        contigs[0] += "A"  # a reference has a base
        text = "".join(contigs)
        reads = []
        for _ in range(random.integers(1, 70)):
            start = int(random.integers(len(text)))
            length = int(random.choice([12, 30, 63, 64, 65, 100, 126, 127, 150]))
            reads.append(edited(random, text[start : start + length], letters))
        options = EVERY_OPTION[int(random.integers(len(EVERY_OPTION)))]
        most = int(random.choice([1, 3, 64])) if case % 3 == 0 else None
        assert_same(index_of(contigs), reads, options if case % 2 else SearchOptions(), most)


def test_unique_reads_across_the_ends_of_contigs() -> None:
    """Both halves have one row, on one diagonal, but an ungapped hit would leave the contig."""
    random = np.random.default_rng(3)
    contigs = ["".join(random.choice([*"ACGT"], 300)) for _ in range(4)]
    text = "".join(contigs)
    reads = []
    for border in (0, 300, 600, 900, 1200):
        for start in range(border - 102, border + 3, 3):
            read = text[max(start, 0) : start + 100]
            reads += [read, reverse_complement(read), "ACG" + read, read + "ACG"]
            reads += [read[:k] + "T" + read[k + 1 :] for k in (0, 1, 50, 98)]
            reads += [read[:k] + read[k + 1 :] for k in (1, 30, 98)]
    random.shuffle(reads)
    others, rest = assert_same(index_of(contigs), reads, SearchOptions())
    assert rest < 12 < others
    assert assert_same(index_of(contigs), [text[100:200]] * 32, SearchOptions()) == (0, 0)


def test_more_hits_of_a_warp_than_slots() -> None:
    random = np.random.default_rng(4)
    unit = "".join(random.choice([*"ACGT"], 80))
    contigs = [unit + "".join(random.choice([*"ACGT"], 40)) for _ in range(12)]
    unique = [contig[60:] for contig in contigs]
    reads = [*unique, *[unit[:60]] * 9, *unique, *[unit[:62]] * 2, *unique, "ACGT" * 40, *unique]
    others, rest = assert_same(index_of(contigs), reads, SearchOptions())
    assert rest == 1
    assert 0 < others < len(reads) // 2


@pytest.mark.parametrize(("most", "record"), [(126, 290), (190, 290), (190, 100)])
def test_reads_of_any_length(most: int, record: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads with a gap start at any bit of a word and end at any bit, with words in registers."""
    from hapgpu.shortread.search.cuda import search  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(search, "_LONG_RECORD", record)
    random = np.random.default_rng(most)
    contig = "".join(random.choice([*"ACGT"], 3000))
    reads = []
    for length in random.choice([*range(30, 66), *range(most - 36, most + 3)], 600).tolist():
        start, gap = random.integers(3000 - 2 * length), random.integers(length)
        whole = contig[start : start + length + 1]
        middle = random.choice([*"ACGT"]) if random.random() < 0.5 else ""
        reads.append(whole[:gap] + middle + whole[gap + (not middle) :][: length - gap])
    long = sum(len(read) > most for read in reads)
    reads += [contig[:most]] * 600  # so many words that the kernel for as many is chosen
    assert assert_same(index_of([contig]), reads, SearchOptions()) == (0, long)


@pytest.mark.parametrize("room", [0, 40, 1000])
def test_repeats(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads with up to 64, 256 and more hits; the pool has room for all, for some, or for none."""
    from hapgpu.shortread.search.cuda import search  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(search, "_LEAST_POOL", room)
    random = np.random.default_rng(room)
    units = ["".join(random.choice([*"ACGT"], 70)) for _ in range(3)]
    parts = [units[0]] * 30 + [edited(random, units[1], "ACGT") for _ in range(150)]
    parts += [edited(random, units[2], "ACGT") for _ in range(300)]
    random.shuffle(parts)
    reads = [edited(random, unit[:60], "ACGT") for unit in units * 8]
    found = [assert_same(index_of(["".join(parts)]), reads, options) for options in EVERY_OPTION]
    assert any(0 < rest <= others < len(reads) for others, rest in found)
    assert room == 0 or any(rest < others for others, rest in found)


def test_more_hits_than_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    from hapgpu.shortread.search.cuda import search  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(search, "_LEAST_POOL", 0)
    unit = "".join(np.random.default_rng(5).choice([*"ACGT"], 100))
    reads = [unit[k : k + 40] for k in range(40)]
    assert assert_same(index_of([unit * 3]), reads, SearchOptions()) == (0, 0)


@pytest.mark.parametrize("letters", ["A", "AC", "ACGTN"])
def test_any_tiny_reference(letters: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(references_with_reads(letters), st.sampled_from(EVERY_OPTION))
    def check(case: tuple[list[str], list[str]], options: SearchOptions) -> None:
        contigs, reads = case
        assert_same(index_of(contigs), reads, options)

    check()
