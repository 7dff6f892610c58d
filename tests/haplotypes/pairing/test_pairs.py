"""Haplotypes of each read, against a comparison of every read with every locus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region
from tests.io.sam_oracle import Row, batch_of

HEADER = SamHeader.from_references(("a", "b", "c"), (1000, 1000, 1000))
REGIONS = st.builds(
    lambda contig, start, length: Region(contig, start, start + length),
    st.sampled_from("abc"),
    st.integers(0, 120),
    st.integers(1, 60),
)
CIGARS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8]), st.integers(0, 30)), max_size=4
).map(tuple)


def haplotypes_at(loci: list[Region]) -> HaplotypeSet:
    unique = tuple(dict.fromkeys(loci))
    return HaplotypeSet(
        tuple(f"h{k}" for k in range(len(loci))),
        Ragged.from_sequences(["ACGT"] * len(loci)),
        unique,
        np.array([unique.index(locus) for locus in loci], dtype=np.int32),
    )


def row(flag: int, reference: int, position: int, cigar: tuple[tuple[int, int], ...] = ()) -> Row:
    return Row("r", flag, reference, position, 0, cigar, -1, -1, 0, "", None, ())


ROWS = st.builds(
    row, st.sampled_from([0, 4, 16, 20]), st.integers(-1, 2), st.integers(-1, 200), CIGARS
)


def overlapping(read: Row, loci: list[Region]) -> list[int]:
    """Return the rows of the haplotypes whose locus overlaps the read."""
    if read.reference < 0:
        return []
    span = sum(length for op, length in read.cigar if op in {0, 2, 3, 7, 8})
    end = read.position + (1 if read.flag & 4 else max(1, span))
    region = Region(HEADER.reference_names[read.reference], read.position, end)
    return [k for k, locus in enumerate(loci) if locus.overlaps(region)]


def lists_of(candidates: ReadHaplotypePairs) -> list[list[int]]:
    rows = Ragged(candidates.haplotypes, candidates.offsets)
    return [haplotypes.tolist() for haplotypes in rows]


@given(loci=st.lists(REGIONS, min_size=1, max_size=12), reads=st.lists(ROWS, max_size=12))
def test_reads_get_the_haplotypes_they_overlap(loci: list[Region], reads: list[Row]) -> None:
    finder = PairFinder(haplotypes_at(loci), HEADER, "x.bam")
    found = finder.find(batch_of(reads))
    expected = [overlapping(read, loci) for read in reads]
    assert lists_of(found) == expected
    assert found.counts.tolist() == [len(rows) for rows in expected]
    assert found.reads.tolist() == [k for k, rows in enumerate(expected) for _ in rows]
    assert lists_of(found.of_reads_with_any()) == [rows for rows in expected if rows]


def test_overlap_of_one_base() -> None:
    finder = PairFinder(haplotypes_at([Region("b", 100, 110)]), HEADER, "x.bam")
    reads = [row(0, 1, position, ((0, 10),)) for position in (90, 91, 109, 110)]
    assert lists_of(finder.find(batch_of(reads))) == [[], [0], [0], []]


def test_many_haplotypes_per_read() -> None:
    """Many haplotypes of many loci that all overlap."""
    loci = [Region("a", k % 7, 200 + k % 5) for k in range(300)]
    finder = PairFinder(haplotypes_at(loci), HEADER, "x.bam")
    assert lists_of(finder.find(batch_of([row(0, 0, 100)] * 3))) == [list(range(300))] * 3


def test_without_loci_every_read_gets_every_haplotype() -> None:
    without_loci = HaplotypeSet(
        ("x", "y"), Ragged.from_sequences(["AC", "GT"]), (), np.full(2, -1, dtype=np.int32)
    )
    finder = PairFinder(without_loci, HEADER, "x.bam")
    reads = batch_of([row(4, -1, -1), row(0, 1, 5), row(0, 2, 900)])
    assert lists_of(finder.find(reads)) == [[0, 1]] * 3


def test_pairs_without_some_reads() -> None:
    candidates = ReadHaplotypePairs(np.array([0, 2, 2, 5, 6]), np.arange(6, dtype=np.int32))
    rest = candidates.without(np.array([False, True, True, False]))
    assert lists_of(rest) == [[0, 1], [], [], [5]]


@pytest.mark.parametrize(
    ("contig", "message"), [("chra", "found 'a' instead"), ("z", "no contig 'z'")]
)
def test_locus_on_an_unknown_contig(contig: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairFinder(haplotypes_at([Region(contig, 0, 9)]), HEADER, "x.bam")
