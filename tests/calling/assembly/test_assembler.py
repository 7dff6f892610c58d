"""Haplotypes of active regions: against plain Python, GATK's cases, and real data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.activity.active_regions import active_regions
from hapgpu.calling.assembly.assembler import assembled_haplotypes, assembled_paths
from hapgpu.calling.batches import RegionHaplotypes, RegionReads
from hapgpu.calling.options import AssemblyOptions, GenotypingOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.cigar.encoding import query_lengths, reference_lengths
from hapgpu.runtime.devices import CpuDevice
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.kmer_graphs.plain_branches import assembled
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules
from tests.calling.assembly.sequence_graph.plain_sequences import (
    Edge,
    all_paths,
    has_cycle,
    plain_of,
)
from tests.calling.segments import segment_reads
from tests.example_counts import many

MOST_PATHS = 128


class Region(NamedTuple):
    """The reference of a padded span, and reads."""

    reference: str
    reads: list[PlainRead]


def strings_of(regions: Sequence[Region], options: AssemblyOptions) -> list[list[str]]:
    """Return the assembled strings of each region, in order."""
    reads = [read for region in regions for read in region.reads]
    bases = Ragged.from_sequences([read.bases for read in reads])
    zeros = np.zeros(len(reads), dtype=np.int64)
    columns = RegionReads(
        np.cumsum([0, *(len(region.reads) for region in regions)]),
        zeros,
        np.array([read.sample for read in reads], dtype=np.int32),
        zeros,
        bases.lengths,
        zeros,
        zeros,
        Ragged.from_lengths(np.zeros(0, dtype=np.uint32), zeros),
        Ragged(np.array([q for read in reads for q in read.qualities], np.uint8), bases.offsets),
    )
    references = Ragged.from_sequences([region.reference for region in regions])
    paths = assembled_paths(bases, columns, references, options)
    texts = [row.tobytes().decode() for row in paths.bases]
    return [
        [text for text, owner in zip(texts, paths.regions, strict=True) if owner == number]
        for number in range(len(regions))
    ]


def plain_strings(region: Region, rules: Rules) -> tuple[bool, set[str] | None]:
    """Return whether k gives a result, and the strings of all paths of its k-mer graph.

    The strings are None if the graph has a cycle or too many paths: then they are not the same.
    """
    status, graph = assembled(region.reference, region.reads, rules)
    if graph is None:
        return status == "short", set()
    number = {vertex: k for k, vertex in enumerate(graph.vertices)}
    edges = [Edge(number[e.source], number[e.target]) for e in graph.edges]
    kmers = list(graph.vertices.values())
    texts = kmers[:1] + [kmer[-1] for kmer in kmers[1:]]
    plain = plain_of(texts, edges)
    if has_cycle(plain):
        return True, None
    paths = all_paths(plain, 0, number[graph.sink])
    return True, {path.bases for path in paths} if len(paths) <= MOST_PATHS else None


def plain_assembly(region: Region, options: AssemblyOptions) -> set[str] | None:
    """Return the strings of an active region other than the reference; None if undefined."""
    found, has_result = [], False
    for k in options.kmer_sizes:
        is_result, strings = plain_strings(region, Rules(k, min_pruning=options.min_pruning))
        has_result |= is_result
        found.append(strings)
    for step in range(1, 7):
        if not has_result:
            rules = Rules(max(options.kmer_sizes) + 10 * step, step == 6, options.min_pruning)
            has_result, strings = plain_strings(region, rules)
            found.append(strings)
    sets = [strings for strings in found if strings is not None]
    return set().union(*sets) - {region.reference} if len(sets) == len(found) else None


def random_bases(length: int, rng: np.random.Generator, alphabet: str = "ACGT") -> str:
    return "".join(rng.choice(list(alphabet), length))


def changed(text: str, alphabet: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(len(text) + 1))
    return text[:at] + random_bases(int(rng.choice([0, 1, 1, 4])), rng, alphabet) + text[at + 1 :]


@st.composite
def made_regions(draw: st.DrawFn) -> Region:
    """Draw a region of few letters, with reads of two samples from one or two haplotypes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alphabet = draw(st.sampled_from(["AC", "ACG", "ACGT"]))
    reference = random_bases(draw(st.integers(3, 50)), rng, alphabet)
    haplotypes = [reference, changed(reference, alphabet, rng)]
    reads = []
    for _ in range(rng.integers(12)):
        haplotype = str(rng.choice(haplotypes))
        start = rng.integers(len(haplotype) + 1)
        text = haplotype[start : start + rng.integers(5, 40)] or "A"
        if rng.random() < 0.2:
            text = changed(text, alphabet, rng) or "A"
        reads.append(
            PlainRead(text, rng.choice([30, 30, 30, 9], len(text)).tolist(), int(rng.integers(2)))
        )
    return Region(reference, reads * int(rng.choice([1, 2])))


@given(
    st.lists(made_regions(), min_size=1, max_size=4), st.sampled_from([(3, 5), (4,), (6,), (2, 3)])
)
@settings(max_examples=many(150))
def test_as_all_paths_of_plain_graphs(regions: list[Region], kmer_sizes: tuple[int, ...]) -> None:
    options = AssemblyOptions(kmer_sizes=kmer_sizes)
    found = strings_of(regions, options)
    for region, strings in zip(regions, found, strict=True):
        expected = plain_assembly(region, options)
        if expected is not None:
            assert len(set(strings)) == len(strings)
            assert set(strings) == expected


def variants_of(reference: str, at: int, rng: np.random.Generator) -> list[str]:
    """Return the reference with another base at an offset, and with indels of 1 to 9 bases."""
    before, after = reference[:at], reference[at + 1 :]
    base = reference[at]
    other = next(b for b in "ACGT" if b != base)
    insertions = [before + base + random_bases(length, rng) + after for length in range(1, 10)]
    deletions = [before + base + after[length:] for length in range(1, 10)]
    return [before + other + after, *insertions, *deletions]


@pytest.mark.parametrize("at", range(40, 61, 5))
def test_one_variant_in_all_reads(at: int) -> None:
    """GATK's case: 5 reads of the whole alternative, k = 25."""
    rng = np.random.default_rng(at)
    reference = random_bases(101, rng)
    variants = variants_of(reference, at, rng)
    regions = [Region(reference, reads_of(*[variant] * 5)) for variant in variants]
    found = strings_of(regions, AssemblyOptions(kmer_sizes=(25,)))
    assert found == [[variant] for variant in variants]


def test_a_repeat_needs_a_larger_k() -> None:
    """A repeat of 40 bases: neither 10 nor 25 nor 35 gives a result, and 45 is the last k."""
    rng = np.random.default_rng(1)
    repeat, flank = random_bases(40, rng), random_bases(120, rng)
    reference = flank + repeat + "A" + repeat + flank[::-1]
    other = flank[:60] + ("C" if flank[60] != "C" else "G") + flank[61:] + reference[120:]
    (found,) = strings_of([Region(reference, reads_of(*[other] * 5))], AssemblyOptions())
    assert found == [other]


def test_both_k_give_a_string_once_and_better_supported_ones_first() -> None:
    rng = np.random.default_rng(2)
    reference = random_bases(150, rng)
    others = [variants_of(reference, at, rng)[0] for at in (60, 90)]
    both = others[0][:75] + others[1][75:]
    reads = reads_of(*[others[0]] * 9, *[others[1]] * 3)
    (found,) = strings_of([Region(reference, reads)], AssemblyOptions())
    assert found == [others[0], both, others[1]]


def test_no_regions() -> None:
    assert strings_of([], AssemblyOptions()) == []


def test_a_reference_shorter_than_k_has_no_other_strings() -> None:
    assert strings_of([Region("ACGTACG", reads_of("ACGTTCG"))], AssemblyOptions()) == [[]]


class RealRegions(NamedTuple):
    """Haplotypes of a stretch of real reads, and what they are made of."""

    haplotypes: RegionHaplotypes
    references: list[str]
    regions: list[Region]


@pytest.fixture(scope="module")
def real(data_dir: Path) -> RealRegions:
    bam = data_dir / "illumina_na12878" / "NA12878.chr20.dev.bam"
    segment = segment_reads(bam, "chr20", 10_000_000, 10_010_000)
    active = active_regions(segment, 1, GenotypingOptions())
    assert active is not None
    reads = finalized_reads(segment, active, AssemblyOptions())
    haplotypes = assembled_haplotypes(reads, segment, active, AssemblyOptions(), CpuDevice())
    first = segment.reference.start
    references = [
        segment.reference.bases[start - first : end - first].tobytes().decode()
        for start, end in zip(active.padded_starts, active.padded_ends, strict=True)
    ]
    bases = [row.tobytes().decode() for row in reads.bases(segment.reads)]
    rows = [
        PlainRead(text, quality.tolist(), int(sample))
        for text, quality, sample in zip(bases, reads.qualities, reads.samples, strict=True)
    ]
    regions = [
        Region(reference, rows[start:end])
        for reference, start, end in zip(
            references, reads.offsets[:-1], reads.offsets[1:], strict=True
        )
    ]
    return RealRegions(haplotypes, references, regions)


def test_haplotypes_align_with_the_whole_reference(real: RealRegions) -> None:
    haplotypes, references, _ = real
    assert haplotypes.offsets.size == len(references) + 1
    assert (query_lengths(haplotypes.cigars) == haplotypes.bases.lengths).all()
    lengths = np.array([len(reference) for reference in references])
    assert (reference_lengths(haplotypes.cigars) == lengths[haplotypes.regions]).all()


def test_the_reference_is_the_last_haplotype_of_each_region(real: RealRegions) -> None:
    haplotypes, references, _ = real
    rows = np.flatnonzero(haplotypes.is_reference)
    assert (rows == haplotypes.offsets[1:] - 1).all()
    assert [haplotypes.bases[row].tobytes().decode() for row in rows] == references
    assert (np.isnan(haplotypes.scores) == haplotypes.is_reference).all()


@pytest.mark.exhaustive
def test_real_regions_as_plain(real: RealRegions) -> None:
    compared = 0
    for number, region in enumerate(real.regions):
        expected = plain_assembly(region, AssemblyOptions())
        first, end = real.haplotypes.offsets[number : number + 2]
        found = [real.haplotypes.bases[row].tobytes().decode() for row in range(first, end - 1)]
        if expected is not None:
            assert set(found) == expected
            compared += 1
    assert compared > 0.9 * len(real.regions)
