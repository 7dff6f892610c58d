"""Tables of likelihoods, against Python's formatting."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.genome.regions import Region
from hapgpu.pairhmm.reads.tables import HostLikelihoods, MatrixTable, PairTable, Table

WIDEST = "-0.000000001234567891"
NAME = "n" * 100_000
HAPLOTYPES = 300
READS = 6


def haplotypes(*, with_loci: bool) -> HaplotypeSet:
    names = ("h" * 100_000, *(f"h{k}" for k in range(1, HAPLOTYPES)))
    sequences = Ragged.from_sequences(["ACGT"] * HAPLOTYPES)
    if not with_loci:
        index = np.full(HAPLOTYPES, -1, dtype=np.int32)
        return HaplotypeSet(names, sequences, (), index)
    loci = (Region("c" * 100_000, 2**31 - 3, 2**31 - 1), Region("c", 0, 1))
    return HaplotypeSet(names, sequences, loci, np.arange(HAPLOTYPES, dtype=np.int32) % 2)


def scored() -> HostLikelihoods:
    """Return reads paired with every haplotype, every second, every third."""
    rows = [np.arange(0, HAPLOTYPES, 1 + read % 3, dtype=np.int32) for read in range(READS)]
    pairs = ReadHaplotypePairs(offsets_of([row.size for row in rows]), np.concatenate(rows))
    names = Ragged.from_sequences([NAME, "", *["r"] * (READS - 2)])
    likelihoods = np.full(len(pairs), float(WIDEST))
    likelihoods[::7], likelihoods[1::7] = -np.inf, 0.0
    return HostLikelihoods(names, np.array([0, 1, 2] * 2, dtype=np.uint8), pairs, likelihoods)


def text_of(value: float) -> str:
    return {0.0: "0", -np.inf: "-inf"}.get(value, WIDEST)


def repeated(table: Table) -> str:
    """Return the lines; the second time with an expectation by the first."""
    first = table.lines(scored()).tobytes()
    assert table.lines(scored()).tobytes() == first
    return first.decode()


@pytest.mark.parametrize("with_loci", [False, True])
def test_pairs(with_loci: bool) -> None:
    known, reads = haplotypes(with_loci=with_loci), scored()
    loci = [str(known.loci[k]) if k >= 0 else "." for k in known.locus_index]
    expected = [
        f"{reads.names[read].tobytes().decode()}\t{reads.mates[read]}\t{loci[haplotype]}\t"
        f"{known.names[haplotype]}\t{text_of(reads.likelihoods[row])}\n"
        for read in range(READS)
        for row in range(reads.pairs.offsets[read], reads.pairs.offsets[read + 1])
        for haplotype in [reads.pairs.haplotypes[row]]
    ]
    assert repeated(PairTable(known)) == "".join(expected)


def test_matrix() -> None:
    reads = scored()
    expected = []
    for read in range(READS):
        first, end = reads.pairs.offsets[read : read + 2]
        values = dict(
            zip(reads.pairs.haplotypes[first:end], reads.likelihoods[first:end], strict=True)
        )
        fields = [text_of(values[k]) if k in values else "NA" for k in range(HAPLOTYPES)]
        name = reads.names[read].tobytes().decode()
        expected.append("\t".join([name, str(reads.mates[read]), *fields]) + "\n")
    assert repeated(MatrixTable(haplotypes(with_loci=False))) == "".join(expected)
