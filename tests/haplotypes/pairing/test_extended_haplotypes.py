"""Haplotypes with flanks, and their placement, against plain text operations."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.clips import clips_of
from hapgpu.cigar.encoding import (
    cigar_strings,
    parse_cigar,
    query_lengths,
    reference_lengths,
)
from hapgpu.haplotypes.pairing.extended_haplotypes import FLANK, Extender
from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.projection.placement import Placement, _lengthened, place_haplotypes
from hapgpu.runtime.devices import CpuDevice
from tests.io.sam_oracle import Row, batch_of
from tests.realign.single_pairs import haplotype_cigar

LENGTHS = {"one": 3000, "two": 150, "far": 90_000}
LOCI = (
    ("one", 0, 40), ("one", 100, 180), ("one", 1500, 1600), ("one", 2950, 3000), ("two", 60, 100),
    ("far", 1000, 1050), ("far", 80_000, 80_050),
)  # fmt: skip
OPERATIONS = "MIDNSHP=X"


class World:
    """A reference and its haplotypes: at each locus the reference and three others."""

    def __init__(self, directory: Path) -> None:
        random = Random(5)  # noqa: S311  (the same data on every run)
        self.contigs = {n: "".join(random.choices("ACGT", k=k)) for n, k in LENGTHS.items()}
        self.reference = directory / "reference.fa"
        self.reference.write_text("".join(f">{n}\n{b.lower()}\n" for n, b in self.contigs.items()))
        pysam.faidx(str(self.reference))
        fasta = directory / "haplotypes.fa"
        entries = []
        for number, (contig, start, end) in enumerate(LOCI):
            window = self.contigs[contig][start:end]
            alleles = (window, window[:9] + window[16:], window[:20] + "TTGCA" + window[20:])
            for k, bases in enumerate((*alleles, f"{window[:12]}n{window[13:]}")):
                entries.append(f">h{number}.{k} {contig}:{start + 1}-{end}\n{bases}\n")
        fasta.write_text("".join(entries))
        self.haplotypes = read_haplotypes(fasta)
        self.header = SamHeader.from_references(list(LENGTHS), list(LENGTHS.values()))

    def extender(self) -> Extender:
        return Extender(self.haplotypes, self.reference, self.header)

    def locus(self, haplotype: int) -> tuple[str, int, int]:
        return LOCI[self.haplotypes.locus_index[haplotype]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="module")
def placement(world: World) -> Placement:
    return place_haplotypes(world.haplotypes, world.reference, world.header, CpuDevice(1))


def text(row: object) -> str:
    return bytes(row).decode()  # type: ignore[arg-type]  # an array of bytes


def expected_flanks(world: World, haplotype: int, needed: tuple[int, int]) -> tuple[int, int]:
    contig, start, end = world.locus(haplotype)
    left, right = (max(FLANK, -(-n // FLANK) * FLANK) for n in needed)
    return min(left, start), min(right, LENGTHS[contig] - end)


CANDIDATES = st.lists(
    st.tuples(st.integers(0, 4 * len(LOCI) - 1), st.integers(-50, 700), st.integers(-50, 700)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(CANDIDATES)
def test_rows_are_haplotypes_between_reference_bases(
    world: World, candidates: list[tuple[int, int, int]]
) -> None:
    numbers, *needed = np.array(candidates, dtype=np.int64).T
    extended, rows = world.extender().extend(numbers.astype(np.int32), np.stack(needed))
    assert len(extended.sequences) == len(set(rows.tolist()))
    for row, (number, *flanks) in zip(rows, candidates, strict=True):
        contig, start, end = world.locus(number)
        left, right = expected_flanks(world, number, (flanks[0], flanks[1]))
        bases = world.contigs[contig]
        assert extended.haplotypes[row] == number
        assert extended.flanks[:, row].tolist() == [left, right]
        haplotype = text(world.haplotypes.sequences[number])
        whole = bases[start - left : start] + haplotype + bases[end : end + right]
        assert text(extended.sequences[row]) == whole
        window = extended.windows[row]
        assert text(extended.references[window]) == bases[start - left : end + right]
        assert extended.reference_starts[window] == start - left
        assert list(LENGTHS)[extended.contigs[window]] == contig


def test_equal_flanks_are_made_once(world: World) -> None:
    numbers = np.array([5, 4, 5, 5], dtype=np.int32)
    needed = np.array([[1, 60, 64, 65], [1, 1, 1, 1]])
    extended, rows = world.extender().extend(numbers, needed)
    assert rows.tolist() == [1, 0, 1, 2]
    assert extended.haplotypes.tolist() == [4, 5, 5]
    assert extended.windows.tolist() == [0, 0, 1]


def read(contig: str, position: int, cigar: str) -> Row:
    elements = [(OPERATIONS.index(op), int(n)) for n, op in re.findall(r"(\d+)(\D)", cigar)]
    bases = "A" * sum(n for op, n in elements if OPERATIONS[op] in "MIS=X")
    contig_number = list(LENGTHS).index(contig)
    return Row("r", 0, contig_number, position, 60, tuple(elements), -1, -1, 0, bases, None, ())


CIGARS = st.sampled_from(["30M", "5S30M", "30M9S", "7H5S30M300S", "10M40D10M", "10M25I10M", "9M"])
READS = st.builds(read, st.just("one"), st.integers(0, 1600), CIGARS)


def needed_by(world: World, reads: list[Row]) -> list[list[tuple[int, int, int]]]:
    """Return the haplotypes of each read, and the flanks that each needs."""
    batch = batch_of(reads)
    candidates = PairFinder(world.haplotypes, world.header, "x").find(batch)
    needed = world.extender().flanks_needed(
        batch, clips_of(batch, "x"), candidates.reads, candidates.haplotypes
    )
    columns = (candidates.haplotypes, *needed)
    whole = list(zip(*(column.tolist() for column in columns), strict=True))
    bounds = candidates.offsets.tolist()
    return [whole[start:end] for start, end in itertools.pairwise(bounds)]


@settings(max_examples=60)
@given(st.lists(READS, min_size=1, max_size=6))
def test_flanks_depend_on_the_read_alone(world: World, reads: list[Row]) -> None:
    assert needed_by(world, reads) == [needed_by(world, [one])[0] for one in reads]


@pytest.mark.parametrize(
    ("position", "cigar", "interval"),
    [
        (1490, "30M", (1490, 1520)),
        (1490, "40S30M", (1450, 1520)),
        (1590, "20M40S", (1590, 1650)),
        (1480, "20M100D20M", (1480, 1620)),
        (1490, "10M25I10M", (1465, 1535)),  # from either end of its alignment
    ],
)
def test_flanks_are_long_enough_for_the_read(
    world: World, position: int, cigar: str, interval: tuple[int, int]
) -> None:
    """The haplotypes of this locus are up to 7 bases shorter than the reference."""
    room = 32 + 7
    expected = (1500 - interval[0] + room, interval[1] - 1600 + room)
    (found,) = needed_by(world, [read("one", position, cigar)])
    assert found == [(number, *expected) for number in range(8, 12)]


def test_haplotypes_are_placed_between_flanks(world: World, placement: Placement) -> None:
    assert len(placement.haplotypes) == len(world.haplotypes)
    for row, cigar in enumerate(cigar_strings(placement.cigars)):
        contig, start, end = world.locus(row)
        left, right = expected_flanks(world, row, (0, 0))
        assert placement.flanks[:, row].tolist() == [left, right]
        bases = world.contigs[contig]
        around = bases[start - left : start], bases[end : end + right]
        haplotype = text(world.haplotypes.sequences[row])
        assert cigar == haplotype_cigar(bases[start - left : end + right], haplotype.join(around))


@settings(max_examples=30)
@given(CANDIDATES)
def test_longer_flanks_change_no_gap(
    world: World, placement: Placement, candidates: list[tuple[int, int, int]]
) -> None:
    numbers, *needed = np.array(candidates, dtype=np.int64).T
    extended, _ = world.extender().extend(numbers.astype(np.int32), np.stack(needed))
    placed = placement.place(extended)
    assert query_lengths(placed.cigars).tolist() == extended.sequences.lengths.tolist()
    windows = extended.references.lengths[placed.reference_index]
    assert reference_lengths(placed.cigars).tolist() == windows.tolist()
    for row, cigar in enumerate(cigar_strings(placed.cigars)):
        sequence, window = extended.sequences[row], extended.references[placed.reference_index[row]]
        assert cigar == haplotype_cigar(text(window), text(sequence))


ELEMENTS = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from("MID")), min_size=1, max_size=5
).map(lambda elements: [e for k, e in enumerate(elements) if not k or elements[k - 1][1] != e[1]])


@given(st.lists(st.tuples(ELEMENTS, st.integers(0, 3), st.integers(0, 3)), max_size=5))
def test_matches_around_cigars(rows: list[tuple[list[tuple[int, str]], int, int]]) -> None:
    parsed = [parse_cigar("".join(f"{n}{op}" for n, op in elements)) for elements, _, _ in rows]
    data = np.concatenate([np.empty(0, dtype=np.uint32), *parsed])
    cigars = Ragged.from_lengths(data, [len(x) for x in parsed])
    longer = np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, 2).T
    found = cigar_strings(_lengthened(cigars, longer))
    for cigar, (elements, left, right) in zip(found, rows, strict=True):
        letters = "".join(op * n for n, op in [(left, "M"), *elements, (right, "M")])
        assert cigar == re.sub(r"(.)\1*", lambda run: f"{len(run[0])}{run[1]}", letters)


def test_a_haplotype_without_an_alignment_is_excluded(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The haplotype is so long that clipping costs less than the gap, although its flanks match."""
    fasta = tmp_path / "haplotypes.fa"
    fasta.write_text(f">junk one:1501-1600\n{'AC' * 1500}\n>good one:1501-1600\n{'ACGTT' * 20}\n")
    haplotypes = read_haplotypes(fasta)
    with caplog.at_level("WARNING"):
        placed = place_haplotypes(haplotypes, world.reference, world.header, CpuDevice(1))
    assert placed.haplotypes.names == ("good",)
    assert "'junk' excluded" in caplog.text
