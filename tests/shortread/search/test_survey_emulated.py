"""Searches by the kernels, run on the CPU, against the CPU's own: all hits, or some of many."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays, SuffixSamples
from hapgpu.shortread.search.cpu import search_step
from hapgpu.shortread.search.hits import SearchLimits, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads
from tests.emulation.emulator import emulate
from tests.shortread.made_reads import make_contigs, make_reads, write_fasta
from tests.shortread.search_oracle import pack

if TYPE_CHECKING:
    from hapgpu.shortread.index.cuda import DeviceIndex
    from hapgpu.shortread.search.cuda.arrays import DevicePackedReads

CONTIGS = make_contigs()
READS = [read for group in make_reads(CONTIGS, each=4).values() for read in group]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    fasta = write_fasta(tmp_path_factory.mktemp("made") / "made.fa", CONTIGS)
    return build_index(fasta, CpuDevice())


class OnDevice(np.ndarray):  # type: ignore[type-arg]
    """An array that names a device."""

    device = SimpleNamespace(id=0)


def device_index(index: FMIndexArrays) -> DeviceIndex:
    """Return an index as kernels take it, in host memory."""
    from hapgpu.shortread.index import cuda  # noqa: PLC0415  (imports CuPy)

    nothing = np.empty(2, dtype=np.uint32)
    bases, offsets, suffixes = index.bases, index.contigs.offsets, index.suffixes
    marks: tuple[object, ...] = (nothing.view(np.uint64), nothing, 0)
    if isinstance(suffixes, SuffixSamples):
        marks = (suffixes.marks, suffixes.ranks, suffixes.marks.size)
        suffixes = suffixes.positions
    others = bases.others.view(OnDevice)
    return cuda.DeviceIndex(
        bwt=(index.occurrences, index.occurrences.size // 8, index.primary),
        jump=(index.jump, index.jump_length, index.jump.size),
        suffixes=(suffixes, suffixes.size, *marks),
        reference=(
            *(bases.planes, bases.others, others.size, *cuda._other_blocks(others)),
            *(offsets, offsets.size - 1),
        ),
        letters=(bases.letter_positions, bases.letters),
    )


def device_reads(reads: PackedReads) -> DevicePackedReads:
    """Return reads as kernels take them, in host memory."""
    from hapgpu.shortread.search.cuda import arrays  # noqa: PLC0415  (imports CuPy)

    offsets = reads.word_offsets
    return arrays.DevicePackedReads(
        reads.words, offsets.astype(np.int32), reads.lengths, int(offsets[-1])
    )


def test_blocks_with_other_letters(index: FMIndexArrays, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.shortread.index import cuda  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, cuda)
    words, count = cuda._other_blocks(index.bases.others.view(OnDevice))
    assert count == words.size
    has_others = np.append(index.bases.others != 0, [False, False])
    expected = has_others[:-2] | has_others[1:-1] | has_others[2:]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")[: expected.size]
    np.testing.assert_array_equal(bits.astype(bool), expected)
    assert 0 < expected.mean() < 1


@pytest.mark.parametrize("seed", range(24))
def test_hits_and_counts(index: FMIndexArrays, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.shortread.index import cuda as index_cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.search.cuda import row_search as cuda  # noqa: PLC0415  (as above)

    emulate(monkeypatch, cuda, index_cuda)
    random = np.random.default_rng(seed)
    options = SearchOptions(
        errors=int(random.integers(2)),
        indels=bool(random.integers(2)),
        forward_only=bool(random.integers(2)),
    )
    most = int(random.choice([1, 2, 7, 64]))
    monkeypatch.setattr(cuda, "_RANKED_HITS", int(random.choice([3, 20, 256])))
    monkeypatch.setattr(cuda, "_MAX_KEPT", int(random.choice([0, 64, 64])))
    reads = pack([READS[k] for k in random.choice(len(READS), 12)])
    search = cuda.RowSearch(device_index(index), device_reads(reads), options, 0, most)
    found, expected = search.hits(), search_step(index, reads, options, SearchLimits())
    np.testing.assert_array_equal(found.exact, expected.exact)
    np.testing.assert_array_equal(found.inexact, expected.inexact)
    for read in range(len(reads)):
        hits = expected.hits[expected.offsets[read] : expected.offsets[read + 1]][:most]
        start = found.offsets[read]
        np.testing.assert_array_equal(found.hits[start : start + hits.size], hits)


@pytest.mark.parametrize("seed", range(6))
def test_short_reads_of_any_length(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads with a gap start at any bit of a word and end at any bit, with words in registers."""
    pytest.importorskip("cupy")
    from hapgpu.shortread.index import cuda as index_cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.search.cuda import row_search as cuda  # noqa: PLC0415  (as above)

    emulate(monkeypatch, cuda, index_cuda)
    random = np.random.default_rng(seed)
    contig = "".join(random.choice([*"ACGT"], 2000))
    index = build_index(write_fasta(tmp_path / "a.fa", [contig]), CpuDevice())
    reads = []
    for length in random.choice([*range(30, 66), *range(90, 132)], 600).tolist():
        start, gap = random.integers(2000 - 2 * length), random.integers(length)
        whole = contig[start : start + length + 1]
        middle = random.choice([*"ACGT"]) if random.random() < 0.5 else ""
        reads.append(whole[:gap] + middle + whole[gap + (not middle) :][: length - gap])
    packed, options = pack(reads), SearchOptions()
    found = cuda.RowSearch(device_index(index), device_reads(packed), options, 0).hits()
    expected = search_step(index, packed, options, SearchLimits())
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.hits, expected.hits)
    assert expected.hits.size >= len(reads)
