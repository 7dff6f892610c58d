"""The search of the index, against the reference implementation: the same hits in order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import INSERTION, SearchLimits, SearchOptions
from tests.shortread.index_oracle import index_of
from tests.shortread.made_reads import make_contigs, make_reads, reverse_complement, write_fasta
from tests.shortread.search_oracle import EVERY_OPTION, Oracle, assert_same_hits, describe, pack

MIN_READ_BASES = 10  # docs/methods/map.md

CONTIGS = make_contigs()
GROUPS = make_reads(CONTIGS, each=40)
READS = [read for group in GROUPS.values() for read in group]


@pytest.fixture(scope="module", params=[False, True], ids=["full", "low_memory"])
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> FMIndexArrays:
    path = write_fasta(tmp_path_factory.mktemp("reference") / "made.fa", CONTIGS)
    return build_index(path, CpuDevice(), low_memory=request.param)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(CONTIGS, READS)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_made_reads(index: FMIndexArrays, oracle: Oracle, options: SearchOptions) -> None:
    assert_same_hits(cpu.search(index, pack(READS), options), oracle.expected(options))


def test_made_reads_have_hits_of_every_kind(oracle: Oracle) -> None:
    batch = oracle.expected()
    per_read = np.diff(batch.offsets)
    assert per_read.max() > 1000
    assert (per_read == 0).any()
    seen = set(
        zip(batch.distances.tolist(), batch.strands.tolist(), batch.kinds.tolist(), strict=True)
    )
    assert seen == {(d, s, k) for d, k in ((0, 1), (1, 0), (1, 1), (1, 2)) for s in (0, 1)}


def test_hits_of_a_read_do_not_depend_on_the_others(index: FMIndexArrays, oracle: Oracle) -> None:
    expected = oracle.expected()
    for first in range(0, len(READS), 97):
        found = cpu.search(index, pack(READS[first : first + 1]), SearchOptions())
        np.testing.assert_array_equal(
            found.hits, expected.hits[expected.offsets[first] : expected.offsets[first + 1]]
        )


def test_reads_too_short_and_no_reads(index: FMIndexArrays) -> None:
    short = ["", "A", "A" * (MIN_READ_BASES - 1)]
    assert cpu.search(index, pack(short), SearchOptions()).offsets.tolist() == [0, 0, 0, 0]
    assert cpu.search(index, pack([]), SearchOptions()).offsets.tolist() == [0]


def test_a_base_inserted_near_the_end_of_the_last_contig() -> None:
    contigs = ["ACGTTGCATTCAGGACCATG", "GATCCAGTTTGACCATACGGTTAGCAAGCTCGTA"]
    reads = [contigs[1][:24] + "C" + contigs[1][24:]]
    found = cpu.search(index_of(contigs), pack(reads), SearchOptions())
    assert describe(found.hits) == [(1, 20, 0, INSERTION, 24)]
    assert_same_hits(found, Oracle(contigs, reads).expected())


def test_the_least_hit_with_an_error_is_counted_as_one() -> None:
    """Start, strand, kind and offset are 0: a base inserted before the first one of the index."""
    contig = "GATCCAGTTTGACCATACGGTTAGCAAGCTCGTA"
    found = cpu.search_step(
        index_of([contig]), pack(["T" + contig[:24]]), SearchOptions(), SearchLimits()
    )
    assert describe(found.hits) == [(1, 0, 0, INSERTION, 0)]
    assert (found.exact.tolist(), found.inexact.tolist()) == ([0], [1])


@pytest.mark.parametrize("size", range(2, 7))
def test_the_least_values_are_put_first(size: int) -> None:
    for values in permutations(range(1, size + 1)):
        for count in range(1, size):
            found = np.array([0, *values, size + 1], dtype=np.uint64)
            cpu._select(found, 1, size + 1, count)
            assert sorted(found[1 : count + 1].tolist()) == list(range(1, count + 1))
            assert sorted(found.tolist()) == list(range(size + 2))


def sequences(letters: str, min_size: int, max_size: int) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=min_size, max_size=max_size)


@st.composite
def references_with_reads(draw: st.DrawFn, letters: str) -> tuple[list[str], list[str]]:
    """Small contigs, with pieces of them and around their ends, edited up to twice."""
    contigs = draw(
        st.lists(sequences(letters, 1, 60), min_size=1, max_size=4).filter(
            lambda contigs: any(set("ACGT") & set(contig) for contig in contigs)
        )
    )
    text = "".join(contigs)
    reads = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        read = text[start : start + draw(st.integers(10, 40))]
        for _ in range(draw(st.integers(0, 2))):
            offset = draw(st.integers(0, len(read)))
            read = (
                read[:offset]
                + draw(sequences(letters, 0, 1))
                + read[offset + draw(st.integers(0, 1)) :]
            )
        reads.append(reverse_complement(read) if draw(st.booleans()) else read)
    return contigs, reads


@pytest.mark.parametrize("letters", ["A", "AC", "AT", "ACN", "ACGT", "ACGTNR"])
def test_tiny_references(letters: str, tmp_path: Path) -> None:
    @given(references_with_reads(letters), st.sampled_from(EVERY_OPTION), st.booleans())
    def check(case: tuple[list[str], list[str]], options: SearchOptions, low_memory: bool) -> None:
        contigs, reads = case
        path = write_fasta(tmp_path / "tiny.fa", contigs)
        tiny = build_index(path, CpuDevice(), low_memory=low_memory)
        expected = Oracle(contigs, reads).expected(options)
        assert_same_hits(cpu.search(tiny, pack(reads), options), expected)

    check()


@pytest.mark.gpu
@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_made_reads_on_the_gpu(index: FMIndexArrays, options: SearchOptions) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    reads = pack(READS)
    assert_same_hits(
        cuda.search(index, reads, options, CudaDevice(0)), cpu.search(index, reads, options)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(20))
def test_many_references_on_the_gpu(seed: int, tmp_path: Path) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    contigs = make_contigs(seed)
    groups = make_reads(contigs, each=200, seed=seed)
    reads = pack([read for group in groups.values() for read in group])
    path = write_fasta(tmp_path / "made.fa", contigs)
    small = build_index(path, CpuDevice(), low_memory=bool(seed % 2))
    for options in EVERY_OPTION:
        assert_same_hits(
            cuda.search(small, reads, options, CudaDevice(0)), cpu.search(small, reads, options)
        )


@pytest.mark.gpu
def test_no_reads_and_short_reads_on_the_gpu(index: FMIndexArrays) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    for reads in ([], [""], ["A" * (MIN_READ_BASES - 1)]):
        found = cuda.search(index, pack(reads), SearchOptions(), CudaDevice(0))
        assert found.offsets.tolist() == [0] * (len(reads) + 1)
        assert found.hits.dtype == np.uint64
