"""Likelihoods and realignments of reads, read by read against oracles."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import RegionLikelihoods
from hapgpu.calling.genotypes.likelihoods import best_haplotypes
from hapgpu.calling.options import CallOptions
from hapgpu.cigar.encoding import cigar_strings, parse_cigar, reference_length
from hapgpu.errors import InputError
from hapgpu.pairhmm.options import PcrModel
from tests.calling.cpu_likelihoods import haplotype_likelihoods
from tests.calling.likelihoods.made_regions import (
    MadeRead,
    MadeRegion,
    random_regions,
    region_reads_of,
    segment_of,
    trimmed_of,
)
from tests.calling.likelihoods.reference import best_haplotype_reference
from tests.pairhmm.preparation_oracle import Rules, is_well_modelled, normalized, prepare
from tests.realign.single_pairs import realigned


def likelihoods_of(
    regions: list[MadeRegion], model: PcrModel = PcrModel.CONSERVATIVE
) -> RegionLikelihoods:
    return haplotype_likelihoods(
        region_reads_of(regions),
        segment_of(regions),
        trimmed_of(regions),
        CallOptions(pcr_model=model),
    )


def tag(read: MadeRead, name: bytes) -> str | None:
    """Return the text of a tag; tags are in order, and of one length."""
    at = read.tags.find(name + b"Z")
    return read.tags[at + 3 : at + 3 + len(read.bases)].decode() if at >= 0 else None


def oracle(read: MadeRead, region: MadeRegion, model: PcrModel) -> list[float] | None:
    """Return the likelihoods of a read; None if no haplotype explains it."""
    texts = [tag(read, name) for name in (b"BI", b"BD")]
    parts = [text[read.start : read.end] if text else None for text in texts]
    prepared = prepare(
        read.part,
        read.qualities,
        read.mapping_quality,
        (parts[0], parts[1]),
        Rules(pcr_model=model.value),
    )
    values = [prepared.likelihood(haplotype.bases) for haplotype in region.haplotypes]
    return normalized(values) if is_well_modelled(values, len(read.part)) else None


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_the_oracles(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    regions = random_regions(random, 4)
    model = random.choice(list(PcrModel))
    result = likelihoods_of(regions, model)
    row, others, record = 0, [], -1
    for number, region in enumerate(regions):
        for read in region.reads:
            record += 1
            is_passing = read.mapping_quality >= 20 and not read.mate_contig
            if not is_passing or len(read.part) < 10:
                others.append((number, record))
                continue
            expected = oracle(read, region, model)
            if expected is None:
                continue
            assert result.reads.rows[row] == record
            assert result.reads.regions[row] == number
            assert result.likelihoods[row] == pytest.approx(expected, abs=2e-5)
            check_choice(result, row, region, read)
            row += 1
    assert row == len(result.reads)
    assert list(zip(result.others.regions, result.others.rows, strict=True)) == others


def check_choice(result: RegionLikelihoods, row: int, region: MadeRegion, read: MadeRead) -> None:
    """Check the haplotype of a read, and its realignment."""
    best, is_informative = best_haplotype_reference(
        result.likelihoods[row].tolist(),
        [haplotype.is_reference for haplotype in region.haplotypes],
        [parse_cigar(haplotype.cigar).size for haplotype in region.haplotypes],
    )
    assert (result.best_haplotypes[row], result.is_informative[row]) == (best, is_informative)
    haplotype = region.haplotypes[best]
    moved = realigned(
        read.part, haplotype.bases, haplotype.cigar, region.reference, 0, region.start
    )
    start, cigar = moved or (read.position, f"{len(read.part)}M")
    assert result.reads.starts[row] == start
    assert cigar_strings(result.reads.cigars)[row] == cigar
    assert result.reads.ends[row] == start + reference_length(parse_cigar(cigar))
    assert result.reads.qualities[row].tolist() == list(read.qualities)


@pytest.mark.parametrize("seed", range(50))
def test_the_best_haplotype_equals_the_reference_implementation(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    regions = random_regions(random, 3)
    haplotypes = trimmed_of(regions).haplotypes
    owners = [random.randrange(3) for _ in range(200)]
    rows = [
        [random.choice([0.0, -0.1, -0.19999, -0.2, -0.21, -0.4]) for _ in regions[k].haplotypes]
        for k in owners
    ]
    values = np.array([value for row in rows for value in row], dtype=np.float64)
    ragged = Ragged.from_lengths(values, [len(row) for row in rows])
    best, is_informative = best_haplotypes(ragged, np.array(owners), haplotypes)
    for k, row in enumerate(rows):
        made = regions[owners[k]].haplotypes
        elements = [parse_cigar(one.cigar).size for one in made]
        expected = best_haplotype_reference(row, [one.is_reference for one in made], elements)
        assert (best[k], is_informative[k]) == expected


def test_results_do_not_depend_on_the_other_regions() -> None:
    regions = random_regions(Random(1), 6)  # noqa: S311  (the same data on every run)
    together = likelihoods_of(regions)
    separate = [likelihoods_of([region]) for region in regions]
    parts = [one.likelihoods for one in separate]
    assert np.array_equal(together.likelihoods.data, Ragged.concatenate(parts).data)
    starts = np.concatenate([one.reads.starts for one in separate])
    assert np.array_equal(together.reads.starts, starts)


@pytest.mark.parametrize("regions", [0, 2])
def test_no_reads(regions: int) -> None:
    made = [
        MadeRegion(region.start, region.haplotypes, ())
        for region in random_regions(Random(5), regions)  # noqa: S311  (as above)
    ]
    result = likelihoods_of(made)
    assert len(result.reads) == len(result.others) == len(result.likelihoods) == 0
    assert result.reads.offsets.tolist() == [0] * (regions + 1)


def test_a_tag_with_too_few_qualities_is_an_error() -> None:
    regions = [region for region in random_regions(Random(2), 9) if region.reads]  # noqa: S311  (no secrets)
    first, *others = regions[0].reads
    short = replace(first, tags=b"BIZ55\0")
    regions[0] = MadeRegion(regions[0].start, regions[0].haplotypes, (short, *others))
    with pytest.raises(InputError, match=r"reads, read 'read0': tag BI does not hold"):
        likelihoods_of(regions)
