"""Reads that follow the reference: numbers of k-mers, and edges, against plain rules."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hapgpu.calling.assembly.kmer_graphs import load_bases, number_read_kmers
from hapgpu.calling.assembly.kmers import RegionRows, new_space, number_kmers, number_kmers_beside
from tests.calling.assembly.kmer_graphs.made_graphs import (
    built,
    compiled_rules,
    data_of,
    letters,
    room_for,
    shown,
    shown_plain,
)
from tests.calling.assembly.kmer_graphs.plain_branches import assembled
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules


def reference_without_repeats(random: Random, length: int, k: int) -> str:
    """Return bases of which no k are there twice; some are N."""
    bases = ""
    while len(bases) < length:
        bases += random.choice("ACGTACGTACGTACGTACGTN")
        if bases[-k:] in bases[:-1]:
            bases = bases[:-1] if random.random() < 0.9 else bases[: -2 * k]
    return bases


def read_of(random: Random, reference: str, jumps: float = 0.4) -> str:
    """Return parts of a reference, with a base changed here and there; `jumps` are in any order."""
    bases, at = "", random.randrange(len(reference))
    for _ in range(random.choice([1, 1, 2, 3])):
        length = random.randrange(1, 60)
        bases += reference[at : at + length] + random.choice(["", "A", "GT", "N"])
        at = random.randrange(len(reference)) if random.random() < jumps else at + length + 1
    return "".join(base if random.random() > 0.02 else random.choice("ACGT") for base in bases)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_as_without_a_reference(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same reads on every run)
    k = random.choice([4, 6, 11])
    reference = reference_without_repeats(random, random.choice([k, 30, 90]), k)
    reads = [read_of(random, reference) for _ in range(8)]
    text = letters(reference + "".join(reads)).copy()
    spaces = [room_for(reference, [PlainRead(read, []) for read in reads])[1] for _ in range(2)]
    for space in spaces:
        number_kmers(space, text, 0, len(reference), k, 0)
    start = len(reference)
    for sequence, read in enumerate(reads, 1):
        end = start + len(read)
        number_kmers(spaces[0], text, start, end, k, sequence)
        references = len(reference) - k + 1
        number_kmers_beside(spaces[1], text, start, end, k, sequence, references)
        kmers = [space.kmers[start : max(end - k + 1, start)].tolist() for space in spaces]
        assert kmers[0] == kmers[1]
        start = end
    assert spaces[0].counts.tolist() == spaces[1].counts.tolist()
    count = spaces[0].counts[0]
    for field in ("hash", "text_start", "successor", "is_non_unique"):
        one, other = (space.entries[field][:count] for space in spaces)
        assert one.tolist() == other.tolist(), field


def test_graphs_of_long_reads_as_plain() -> None:
    random = Random(7)  # noqa: S311  (the same reads on every run)
    compared = 0
    for number in range(12):
        k = random.choice([5, 7, 11])
        reference = reference_without_repeats(random, 150, k).replace("N", "A")
        reads = []
        for _ in range(25):
            bases = read_of(random, reference, 0.02)
            qualities = [random.choice([9, 200]) if random.random() < 0.01 else 30 for _ in bases]
            reads.append(PlainRead(bases, qualities, random.randrange(3)))
        rules = Rules(k, is_last_try=number % 2 == 0)
        _, expected = assembled(reference, reads, rules)
        if expected is not None:
            assert shown(built(reference, reads, rules).graph) == shown_plain(expected)
            compared += 1
    assert compared > 3


@pytest.mark.parametrize("min_base_quality", [0, 10, 127, 128, 129, 255])
def test_runs_of_good_bases(min_base_quality: int) -> None:
    random = Random(min_base_quality)  # noqa: S311  (the same reads on every run)
    rules = Rules(3, min_base_quality=min_base_quality)
    near = [min_base_quality, max(min_base_quality - 1, 0), 127, 128, 255]
    reads = []
    for length in range(1, 60):
        bases = "".join(random.choices("ACGTN", [9, 9, 9, 9, 1], k=length))
        qualities = [random.choice(near) if random.random() < 0.3 else 255 for _ in bases]
        reads.append(PlainRead(bases, qualities))
    graph, space = room_for("ACGTT", reads)
    data, region = data_of("ACGTT", reads), RegionRows(0, len(reads), 0, 5)
    load_bases(graph, data, region)
    number_kmers(space, graph.text, 0, 5, rules.k, 0)
    number_read_kmers(space, graph, data, region, compiled_rules(rules))
    found, first = [], 5
    for row, read in enumerate(reads):
        runs = space.runs[space.run_starts[row] : space.run_starts[row + 1]] - first
        found.append([(int(start), int(end)) for start, end in runs.reshape(-1, 2)])
        first += len(read.bases)
    assert found == [read.runs(rules) for read in reads]


def test_memory_of_k_mers_is_used_again() -> None:
    space = new_space()
    assert space.slots.size == 0
    _, space = room_for("ACGTACCA", [])
    number_kmers(space, letters("ACGTACCA").copy(), 0, 8, 3, 0)
    assert np.count_nonzero(space.slots >= 0) == space.counts[0] == 6
