"""Haplotypes of active regions: against plain Python, GATK's cases, and real data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.assembler import assembled_haplotypes, assembled_paths
from hapgpu.calling.assembly.haplotypes import AT_LIMIT, AssembledPaths
from hapgpu.calling.batches import RegionHaplotypes, RegionReads
from hapgpu.calling.options import AssemblyOptions, VariantOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.regions.active_regions import active_regions
from hapgpu.cigar.encoding import query_lengths, reference_lengths
from hapgpu.runtime.devices import CpuDevice
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead
from tests.calling.assembly.plain_assembly import PlainAssembly, Region, plain_assembly
from tests.calling.segments import segment_reads
from tests.example_counts import many


def columns_of(regions: Sequence[Region]) -> tuple[Ragged, RegionReads, Ragged]:
    """Return the bases of the reads, the reads, and the references of regions."""
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
    return bases, columns, Ragged.from_sequences([region.reference for region in regions])


def paths_of(regions: Sequence[Region], options: AssemblyOptions) -> AssembledPaths:
    """Return the assembled paths of regions."""
    return assembled_paths(*columns_of(regions), options)


def strings_of(regions: Sequence[Region], options: AssemblyOptions) -> list[list[str]]:
    """Return the assembled strings of each region, in order."""
    paths = paths_of(regions, options)
    texts = [row.tobytes().decode() for row in paths.bases]
    return [
        [text for text, owner in zip(texts, paths.regions, strict=True) if owner == number]
        for number in range(len(regions))
    ]


def outcomes_of(regions: Sequence[Region], options: AssemblyOptions) -> NDArray[np.uint8]:
    """Return the flags of each region."""
    return paths_of(regions, options).outcomes


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
    for is_strict in (False, True):
        options = AssemblyOptions(kmer_sizes=kmer_sizes, is_strict=is_strict)
        assert_as_plain(regions, options)


def assert_as_plain(regions: list[Region], options: AssemblyOptions) -> None:
    found, flags = strings_of(regions, options), outcomes_of(regions, options).tolist()
    for region, strings, flag in zip(regions, found, flags, strict=True):
        expected = plain_assembly(region, options)
        if expected is not None:
            assert len(set(strings)) == len(strings)
            assert PlainAssembly(set(strings), flag) == expected


def duplicated(text: str, rng: np.random.Generator) -> str:
    at, length = int(rng.integers(len(text))), int(rng.integers(3, 60))
    return text[: at + length] + text[at:]


@st.composite
def made_long_regions(draw: st.DrawFn) -> Region:
    """Draw a region with several haplotypes, each whole in its reads; some have a duplication."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    reference = random_bases(int(rng.integers(30, 110)), rng)
    haplotypes = [reference]
    for _ in range(rng.integers(1, 4)):
        other = str(rng.choice(haplotypes))
        for _ in range(rng.integers(1, 4)):
            other = changed(other, "ACGT", rng)
        haplotypes.append(duplicated(other, rng) if rng.random() < 0.5 else other)
    length = int(rng.choice([rng.integers(14, 35), rng.integers(20, 100)]))
    texts = [
        haplotype[start : start + length]
        for haplotype in haplotypes
        for start in range(0, max(len(haplotype) - length, 0) + 5, 5)
    ]
    return Region(reference, reads_of(*texts * 2))


@given(
    st.lists(made_long_regions(), min_size=1, max_size=3),
    st.sampled_from([(5, 8), (6,), (8,), (7, 9)]),
    st.sampled_from([1, 2, 3, 4, 8, 128]),
    st.booleans(),
)
@settings(max_examples=many(180))
def test_cycles_and_few_kept_paths_as_plain(
    regions: list[Region],
    kmer_sizes: tuple[int, ...],
    max_haplotypes: int,
    is_strict: bool,
) -> None:
    assert_as_plain(
        regions,
        AssemblyOptions(
            kmer_sizes=kmer_sizes, min_pruning=2, max_haplotypes=max_haplotypes, is_strict=is_strict
        ),
    )


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


def test_a_larger_k_finds_what_a_limit_of_paths_excludes() -> None:
    """With k = 10, four SNVs give 16 paths of equal scores; with k = 20, there are two paths."""
    rng = np.random.default_rng(8)
    reference = random_bases(160, rng)
    sites = range(60, 120, 15)
    first, other = list(reference), list(reference)
    for number, at in enumerate(sites):  # of equal scores, the larger string is kept
        first[at], other[at] = ("A", "T") if number else ("T", "A")
    texts = ["".join(first), "".join(other)]
    region = Region(texts[0], reads_of(*texts * 4))
    options = AssemblyOptions(kmer_sizes=(10,), max_haplotypes=2)
    assert texts[1] in strings_of([region], options)[0]
    assert outcomes_of([region], options).tolist() == [AT_LIMIT]
    strict = replace(options, is_strict=True)
    assert texts[1] not in strings_of([region], strict)[0]
    assert outcomes_of([region], strict).tolist() == [AT_LIMIT]


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
    active = active_regions(segment, 1, VariantOptions())
    assert active is not None
    reads = finalized_reads(segment, active, AssemblyOptions())
    haplotypes, _ = assembled_haplotypes(reads, segment, active, AssemblyOptions(), CpuDevice())
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
            assert set(found) == expected.strings
            compared += 1
    assert compared > 0.9 * len(real.regions)
