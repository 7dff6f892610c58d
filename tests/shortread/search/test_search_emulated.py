"""The kernel that searches reads with few candidates, run on the CPU, and the search in steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.cpu import search_step
from hapgpu.shortread.search.hits import SearchLimits, SearchOptions
from tests.emulation.emulator import emulate
from tests.shortread.made_reads import make_contigs, make_reads, write_fasta
from tests.shortread.search.test_survey_emulated import device_index, device_reads
from tests.shortread.search_oracle import EVERY_OPTION, pack

pytest.importorskip("cupy")

CONTIGS = make_contigs()
READS = [read for group in make_reads(CONTIGS, each=12).values() for read in group]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    fasta = write_fasta(tmp_path_factory.mktemp("made") / "made.fa", CONTIGS)
    return build_index(fasta, CpuDevice())


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    from hapgpu.arrays import cuda as arrays  # noqa: PLC0415  (imports CuPy)
    from hapgpu.shortread.index import cuda as index_cuda  # noqa: PLC0415  (as above)
    from hapgpu.shortread.search.cuda import row_search, search  # noqa: PLC0415  (as above)

    emulate(monkeypatch, search, row_search, index_cuda, arrays)


def assert_same(
    index: FMIndexArrays, reads: Sequence[str], options: SearchOptions, most: int | None = None
) -> int:
    """Compare hits and counts with those of the CPU; return the number of reads of the steps."""
    from hapgpu.shortread.search.cuda.search import DeviceSearch  # noqa: PLC0415  (as above)

    packed = pack(reads)
    search = DeviceSearch(device_index(index), device_reads(packed), options, 0, most)
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
    return int(search._others.size)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_made_reads(index: FMIndexArrays, options: SearchOptions) -> None:
    others = assert_same(index, READS, options)
    assert 0 < others < len(READS)
