"""The reference and the reads that `hapgpu bench map` simulates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import pack_reads
from hapgpu.simulation.sequences import random_reference
from hapgpu.simulation.short_reads import READ_LENGTH, simulated_blocks
from tests.shortread.made_reads import write_fasta

BASES = 60_000


def text_of(reference: NDArray[np.uint8]) -> str:
    return reference.tobytes().decode()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    """Several contigs, one too short for a read, with letters other than bases."""
    text = text_of(random_reference(BASES))
    contigs = [text[:40_000], text[: READ_LENGTH - 1], "N" * 150 + text[40_000:] + "NRN"]
    path = write_fasta(tmp_path_factory.mktemp("reference") / "made.fa", contigs)
    return build_index(path, CpuDevice())


def simulated(index: FMIndexArrays, count: int, block_bytes: int, seed: int = 1) -> list[ReadBlock]:
    def allocate(size: int) -> NDArray[np.uint8]:
        return np.full(size + 7, ord("?"), dtype=np.uint8)

    return list(simulated_blocks(index, count, block_bytes, allocate, seed))


def hits_of(index: FMIndexArrays, block: ReadBlock, options: SearchOptions) -> HitBatch:
    spans = parse_block(block, SHORT_READS)
    reads = pack_reads(block.text, spans.base_starts, spans.lengths)
    return cpu.search(index, reads, options)


def test_the_reference_has_repeats_and_no_other_letters() -> None:
    reference = random_reference(BASES)
    assert reference.size == BASES
    assert set(reference.tobytes()) == set(b"ACGT")
    text = text_of(reference)
    words = [text[at : at + 24] for at in range(BASES - 24)]
    assert 0.02 < 1 - len(set(words)) / len(words) < 0.2
    np.testing.assert_array_equal(reference, random_reference(BASES))
    assert text != text_of(random_reference(BASES, seed=2))


def test_blocks_are_cut_to_size_and_numbered(index: FMIndexArrays) -> None:
    whole = simulated(index, 1000, 1 << 20)
    parts = simulated(index, 1000, 50_000)
    assert len(whole) == 1 < len(parts)
    assert all(40_000 < part.text.size <= 50_000 for part in parts[:-1])
    names = [line[5:] for part in parts for line in part.text.tobytes().decode().splitlines()[::4]]
    assert [int(name) for name in names] == list(range(len(names)))
    firsts = np.cumsum([1, *(len(parse_block(part, SHORT_READS)) for part in parts)])
    assert [part.first for part in parts] == firsts[:-1].tolist()
    assert simulated(index, 1000, 1 << 20)[0].text.tobytes() == whole[0].text.tobytes()
    assert simulated(index, 1000, 1 << 20, 2)[0].text.tobytes() != whole[0].text.tobytes()


def test_reads_come_from_both_strands_with_few_errors(index: FMIndexArrays) -> None:
    (block,) = simulated(index, 4000, 1 << 20)
    spans = parse_block(block, SHORT_READS)
    assert 0.97 * 4000 < len(spans) < 4000
    assert set(spans.lengths) == {READ_LENGTH}
    found = hits_of(index, block, SearchOptions(errors=1, indels=False))
    # Of 100 bases, each wrong at 0.5 %: none in 61 % of all reads, at most one in 91 %.
    counts = np.diff(found.offsets)
    assert 0.88 < np.mean(counts > 0) < 0.94
    exact = hits_of(index, block, SearchOptions(errors=0))
    assert 0.57 < np.mean(np.diff(exact.offsets) > 0) < 0.65
    assert 0.45 < found.strands.mean() < 0.55


def test_a_reference_without_room_for_a_read(tmp_path: Path) -> None:
    for contigs in (["ACGT" * 20], ["ACGT" * 20] * 3, [("ACGT" * 20 + "N") * 5]):
        small = build_index(write_fasta(tmp_path / "small.fa", contigs), CpuDevice())
        assert simulated(small, 500, 1 << 20) == []
