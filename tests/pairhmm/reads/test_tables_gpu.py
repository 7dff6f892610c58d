"""Tables of likelihoods written on the GPU, against the same tables from the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.genome.regions import Region
from hapgpu.pairhmm.reads.tables import HostLikelihoods, MatrixTable, PairTable, Table
from tests.cigar.made_alignments import block_of
from tests.realign.batches.made_reads import made_reads

pytestmark = pytest.mark.gpu

HAPLOTYPES = 200


def haplotypes(*, with_loci: bool) -> HaplotypeSet:
    random = np.random.default_rng(1)
    names = tuple(f"h{k}" + "x" * int(random.integers(0, 70)) for k in range(HAPLOTYPES))
    loci = tuple(Region("chr20", 100 * k, 100 * k + 50) for k in range(HAPLOTYPES // 4))
    sequences = Ragged.from_sequences(["ACGT"] * HAPLOTYPES)
    index = np.arange(HAPLOTYPES, dtype=np.int32) // 4
    if not with_loci:
        return HaplotypeSet(names, sequences, (), np.full_like(index, -1))
    return HaplotypeSet(names, sequences, loci, index)


def made_pairs(reads: ReadBatch, likelihoods: NDArray[np.float64]) -> ReadHaplotypePairs:
    """Pair reads with as many haplotypes as there are likelihoods; some reads with none."""
    random = np.random.default_rng(2)
    counts = np.zeros(len(reads), dtype=np.int64)
    left = likelihoods.size
    for read in range(len(reads)):
        most = min(HAPLOTYPES, left)
        rest = left - HAPLOTYPES * (len(reads) - read - 1)
        counts[read] = random.integers(max(rest, 0), most + 1)
        left -= counts[read]
    rows = [np.sort(random.choice(HAPLOTYPES, count, replace=False)) for count in counts]
    return ReadHaplotypePairs(offsets_of(counts), np.concatenate(rows).astype(np.int32))


def expected(
    table: Table, reads: ReadBatch, pairs: ReadHaplotypePairs, likelihoods: NDArray[np.float64]
) -> bytes:
    mates = np.array([1 if f & 65 == 65 else 2 if f & 129 == 129 else 0 for f in reads.flags])
    has_any = pairs.counts > 0
    scored = HostLikelihoods(
        reads.names.take(has_any),
        mates[has_any].astype(np.uint8),
        pairs.of_reads_with_any(),
        likelihoods,
    )
    return table.lines(scored).tobytes()


def found(
    table: Table,
    reads: ReadBatch,
    pairs: ReadHaplotypePairs,
    likelihoods: NDArray[np.float64],
    part_bytes: int,
) -> Iterator[bytes]:
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.pairhmm.reads.cuda.tables import (  # noqa: PLC0415  (as above)
        DeviceLikelihoods,
        DeviceTable,
    )

    scored = DeviceLikelihoods(
        DeviceRecords.upload(block_of(reads)),
        cupy.asarray(pairs.reads.astype(np.int64)),
        cupy.asarray(pairs.haplotypes),
        cupy.asarray(likelihoods),
    )
    for part in DeviceTable(table).text(scored).parts(part_bytes):
        yield part.tobytes()


@pytest.mark.parametrize("count", [0, 1, 1000])
@pytest.mark.parametrize("part_bytes", [1, 300, 1 << 20])
@pytest.mark.parametrize("kind", ["pairs", "pairs without loci", "matrix"])
def test_as_on_the_cpu(kind: str, part_bytes: int, count: int) -> None:
    table: Table = PairTable(haplotypes(with_loci=kind == "pairs"))
    if kind == "matrix":
        table = MatrixTable(haplotypes(with_loci=True))
    reads = made_reads(3, 40).reads
    likelihoods = np.random.default_rng(4).uniform(-300, 0, count)
    pairs = made_pairs(reads, likelihoods)
    parts = list(found(table, reads, pairs, likelihoods, part_bytes))
    assert b"".join(parts) == expected(table, reads, pairs, likelihoods)
    longest = 1000  # of the text of a pair
    assert all(len(part) <= part_bytes + longest for part in parts)


def decimals(count: int) -> NDArray[np.float64]:
    """Return likelihoods, ties between decimals, and floats of all kinds."""
    random = np.random.default_rng(5)
    tens = 10.0 ** random.integers(-12, 12, count)
    powers = np.ldexp(1.0, np.arange(-1074, 1024))
    with np.errstate(over="ignore"):
        columns = [
            random.uniform(-1000, 0, count),
            -(10.0 ** random.uniform(-14, 3, count)),
            (random.integers(0, 10**10, count) + 0.5) / tens,
            random.integers(-(10**10), 10**10, count) / tens,
            random.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
            *(np.nextafter(powers, to) for to in (0.0, np.inf)),
            powers,
            np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308]),
        ]
    return np.concatenate(columns)


def check_decimals(count: int) -> None:
    likelihoods = decimals(count)
    reads = made_reads(3, -(-likelihoods.size // HAPLOTYPES) + 5).reads
    pairs = made_pairs(reads, likelihoods)
    table = MatrixTable(haplotypes(with_loci=True))
    text = b"".join(found(table, reads, pairs, likelihoods, 1 << 24))
    assert text == expected(table, reads, pairs, likelihoods)


def test_decimals() -> None:
    check_decimals(10_000)


@pytest.mark.exhaustive
def test_many_decimals() -> None:
    check_decimals(1_000_000)
