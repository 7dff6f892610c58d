"""Haplotypes of records in GPU memory, against those that the CPU finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.genome.regions import Region
from hapgpu.runtime.pool import Pool
from tests.haplotypes.pairing.test_pairs import HEADER, REGIONS, ROWS, haplotypes_at, row
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of

pytestmark = pytest.mark.gpu


def check(haplotypes: HaplotypeSet, rows: list[Row], require: int = 0, exclude: int = 0) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.haplotypes.pairing.cuda import DevicePairFinder  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)

    reads = batch_of(rows)
    finder = PairFinder(haplotypes, HEADER, "x.bam")
    is_used = reads.has_flags(require, exclude)
    pairs = finder.find(reads).without(~is_used)
    selected = np.flatnonzero(pairs.counts)
    with Pool(1) as pool:
        records = DeviceRecords.upload(encode_block(reads, HEADER, pool))
    found = DevicePairFinder(finder).find(records, require, exclude)
    assert found.rows.get().tolist() == selected.tolist()
    assert found.counts.get().tolist() == pairs.counts[selected].tolist()
    count = selected.size
    for start, end, excluded in ((0, count, 0), (0, count, 3), (count // 3, count // 2, 2)):
        mask = np.arange(end - start) % 4 < excluded
        numbers = np.zeros(len(reads), dtype=np.bool_)
        numbers[selected[start:end][~mask]] = True
        expected = pairs.without(~numbers)
        listed = found.pairs(start, end, cupy.asarray(mask))
        downloaded = listed.download()
        assert downloaded.counts.tolist() == expected.counts[selected[start:end]].tolist()
        assert downloaded.haplotypes.dtype == np.int32
        assert downloaded.haplotypes.tolist() == expected.haplotypes.tolist()
        assert listed.reads.get().tolist() == downloaded.reads.tolist()
        assert listed.counts.get().tolist() == downloaded.counts.tolist()


@given(
    loci=st.lists(REGIONS, min_size=1, max_size=12),
    rows=st.lists(ROWS, max_size=12),
    require=st.sampled_from([0, 4]),
    exclude=st.sampled_from([0, 16]),
)
def test_as_on_the_cpu(loci: list[Region], rows: list[Row], require: int, exclude: int) -> None:
    check(haplotypes_at(loci), rows, require, exclude)


def test_overlap_of_one_base() -> None:
    rows = [row(0, 1, position, ((0, 10),)) for position in (90, 91, 109, 110)]
    check(haplotypes_at([Region("b", 100, 110)]), rows)


@pytest.mark.parametrize("is_in_order", [True, False])
def test_many_haplotypes_per_read(is_in_order: bool) -> None:
    regions = [Region("a", k % 7, 200 + k % 5) for k in range(300)]
    step = 1 if is_in_order else 77
    check(haplotypes_at([regions[k * step % 300] for k in range(300)]), [row(0, 0, 100)] * 3)


def test_without_loci_every_read_gets_every_haplotype() -> None:
    without_loci = HaplotypeSet(
        ("x", "y"), Ragged.from_sequences(["AC", "GT"]), (), np.full(2, -1, dtype=np.int32)
    )
    check(without_loci, [row(4, -1, -1), row(0, 1, 5), row(0, 2, 900)])


def test_long_and_odd_alignments() -> None:
    """A CIGAR in the tag CG, and reads that end after the last position of a contig."""
    long_cigar = ((0, 1), (2, 1)) * 40_000
    rows = [
        row(0, 0, 5, long_cigar),
        row(0, 0, 5, ((3, 2**28 - 1),) * 9),
        row(0, 0, 2**29 - 5, ((3, 2**28 - 1),) * 8),
        row(0, 1, 0, ((4, 9), (5, 3))),
    ]
    loci = [Region("a", 79_990, 80_010), Region("a", 2**31 - 9, 2**31 - 1), Region("b", 0, 1)]
    check(haplotypes_at(loci), rows)
