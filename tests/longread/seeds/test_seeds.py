"""Seeds against the reference implementation: look-up, frequent and repetitive minimizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.options import SeedOptions
from hapgpu.longread.seed.seeds import RunScratch, SeedColumns, drop_repetitive, find_seeds
from tests.example_counts import many
from tests.longread.made_index import (
    index_of,
    lengths_of,
    minimizers_of,
    plain_index_of,
    plain_minimizers_of,
)
from tests.longread.seeds.reference import Seed, seeds_of

Read = list[tuple[int, int, int]]
HASHES = st.integers(0, 2**56 - 1)


def expected_seeds(seeds: Sequence[Seed]) -> list[tuple[int, int, bool, list[int]]]:
    """Encode seeds of the reference implementation as in the compiled stage."""
    return [
        (
            *(read_kmer.position << 1 | read_kmer.strand, read_kmer.span, is_tandem),
            [
                occurrence.sequence << 32 | occurrence.position << 1 | occurrence.strand
                for occurrence in occurrences
            ],
        )
        for read_kmer, occurrences, is_tandem in seeds
    ]


def check(
    reads: list[Read],
    occurrences: dict[int, list[int]],
    cutoff: int,
    options: SeedOptions,
    bits: int = 4,
) -> None:
    index, plain_index, lengths = (
        index_of(occurrences, bits),
        plain_index_of(occurrences),
        lengths_of(reads),
    )
    seeds = find_seeds(index, minimizers_of(reads), lengths, cutoff, options)
    assert seeds.offsets.dtype == np.int64
    assert seeds.offsets.size == len(reads) + 1
    for number, read in enumerate(reads):
        length = int(lengths[number])
        expected = seeds_of(plain_minimizers_of(read), length, plain_index, cutoff, options)
        found = []
        for k in range(seeds.offsets[number], seeds.offsets[number + 1]):
            first, count = int(seeds.first_occurrences[k]), int(seeds.occurrence_counts[k])
            found_occurrences = index.occurrences[first : first + count].tolist()
            row = int(seeds.positions[k]), int(seeds.spans[k]), bool(seeds.is_tandem[k])
            found.append((*row, found_occurrences))
        assert found == expected_seeds(expected.kept)
        assert seeds.repeat_lengths[number] == expected.repeat_length
    for column in (seeds.spans, seeds.is_tandem, seeds.first_occurrences, seeds.occurrence_counts):
        assert column.size == seeds.offsets[-1] == seeds.positions.size


@st.composite
def made_reads(draw: st.DrawFn) -> tuple[list[Read], dict[int, list[int]]]:
    """Draw reads of few k-mers; some occur in the reference, some often."""
    hashes = draw(st.lists(HASHES, min_size=1, max_size=8, unique=True))
    counts = draw(st.lists(st.integers(0, 9), min_size=len(hashes), max_size=len(hashes)))
    occurrences = {h: list(range(n)) for h, n in zip(hashes, counts, strict=True) if n}
    reads = []
    for _ in range(draw(st.integers(0, 3))):
        row = st.tuples(st.sampled_from(hashes), st.integers(5, 7), st.integers(1, 9))
        rows = draw(st.lists(row, max_size=60))
        positions = np.cumsum([5, *(step for _, _, step in rows)]).tolist()
        reads.append(
            [(h, span, at << 1 | at % 2) for (h, span, _), at in zip(rows, positions, strict=False)]
        )
    return reads, occurrences


@settings(max_examples=many(150))
@given(
    made_reads(),
    st.integers(1, 8),
    st.sampled_from([0, 1, 7, 30, 500]),
    st.floats(0, 0.5, width=32),
)
def test_made_reads(
    made: tuple[list[Read], dict[int, list[int]]], cutoff: int, distance: int, fraction: float
) -> None:
    options = SeedOptions(occurrence_distance=distance, read_fraction=fraction)
    check(*made, cutoff, options)


@given(st.sets(HASHES, max_size=300), st.sets(HASHES, max_size=20), st.integers(1, 12))
def test_lookup(indexed: set[int], others: set[int], bits: int) -> None:
    occurrences = {hash_: list(range(1 + hash_ % 3)) for hash_ in indexed}
    hashes = [*indexed, *others] * 2
    check([spaced(hashes), spaced(hashes[::-1])], occurrences, 3, SeedOptions(), bits)


def spaced(hashes: list[int], step: int = 10) -> Read:
    """Make a read of 5-mers at positions 10, 20, ..."""
    return [(hash_, 5, (step * (k + 1)) << 1) for k, hash_ in enumerate(hashes)]


def test_no_reads_and_no_occurrences() -> None:
    check([], {1: [2]}, 10, SeedOptions())
    check([[], spaced([1]), []], {}, 10, SeedOptions())


@pytest.mark.parametrize("copies", [14, 15, 16])
def test_frequent_in_the_read(copies: int) -> None:
    """Dropped if above the cutoff and above the fraction of the read's minimizers."""
    options = SeedOptions(read_fraction=0.01)
    for others in (0, 1, 1483, 1484, 1485, 1486, 3000):
        read = spaced([7, *range(100, 100 + others), *[7] * (copies - 1)])
        check([read, spaced([7])], {7: [4], 100: [6]}, 14, options)
        check([read], {7: [4], 100: [6]}, 14, replace(options, read_fraction=0.0))


def test_frequent_k_mers_hide_no_tandem() -> None:
    """Neighbours are the minimizers that remain."""
    read = spaced([1, 9, 1, 2, *[9] * 4, 2, 3])
    check([read], {1: [0], 2: [2], 3: [4]}, 3, SeedOptions())


def test_one_repetitive_seed_alone_is_kept() -> None:
    for distance in (0, 500):
        options = SeedOptions(occurrence_distance=distance)
        check([spaced([1]), spaced([1, 2]), spaced([1, 1])], {1: [*range(20)]}, 10, options)


@pytest.mark.parametrize("cutoff", [10, 4094, 4095, 5000])
def test_occurrences_beyond_the_limit(cutoff: int) -> None:
    occurrences = {1: [*range(4094)], 2: [*range(4095)], 3: [*range(4096)], 4: [0]}
    check(
        [spaced([4, 1, 2, 3, 4]), spaced([3])],
        occurrences,
        cutoff,
        SeedOptions(occurrence_distance=1),
    )


def test_long_runs_of_repetitive_seeds() -> None:
    """At most 128 are kept: the fewest occurrences, the first of ties."""
    rng = np.random.default_rng(1)
    occurrences = {hash_: [*range(11 + hash_ % 5)] for hash_ in range(1, 300)}
    reads = [spaced(rng.permutation(np.arange(1, 300)).tolist(), step) for step in (10, 100, 300)]
    check(reads, occurrences, 10, SeedOptions(read_fraction=0))


def test_working_arrays_have_a_row_per_seed() -> None:
    """Of two repetitive seeds around another none is kept; what follows the rows is untouched."""
    seeds = SeedColumns(
        positions=np.array([20, 40, 60], dtype=np.uint32),
        spans=np.full(3, 5, dtype=np.uint8),
        is_tandem=np.zeros(3, dtype=np.uint8),
        first_occurrences=np.zeros(3, dtype=np.int64),
        occurrence_counts=np.array([20, 1, 20], dtype=np.int32),
    )
    ranks, members = np.full((2, 4), 7, dtype=np.uint64)
    is_dropped = np.ones(4, dtype=np.bool_)
    scratch = RunScratch(ranks[:3], members[:3], is_dropped[:3])
    found = drop_repetitive(seeds, np.int64(0), np.int64(3), np.int32(100), 10, 500, scratch)
    assert found == (1, 10)
    assert is_dropped.tolist() == [True, False, True, True]
    assert ranks[3] == members[3] == 7
