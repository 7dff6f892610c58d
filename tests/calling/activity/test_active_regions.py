"""Active regions of segments: GATK's on real reads, the same from any window."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hapgpu.calling.activity.active_regions import (
    MAX_ROOM_BEFORE,
    ROOM_AFTER,
    active_regions,
)
from hapgpu.calling.activity.pileup import pileup_of
from hapgpu.calling.activity.probabilities import activity_probabilities
from hapgpu.calling.activity.reference import PlainRead
from hapgpu.calling.batches import LEAD, ActiveRegions, Segment, SegmentReads
from hapgpu.calling.options import GenotypingOptions
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.activity.made_reads import batch_of
from tests.calling.segments import segment_reads

OPTIONS = GenotypingOptions()
START, END = 10_000_000, 10_050_000


def bam_of(data_dir: Path, sample: str) -> Path:
    return data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam"


def spans_of(regions: ActiveRegions | None) -> list[tuple[int, int]]:
    assert regions is not None
    return list(zip(regions.starts.tolist(), regions.ends.tolist(), strict=True))


def active_loci(reads: SegmentReads, samples: int = 1) -> dict[int, float]:
    """Return the probabilities of the loci of a window that are not 0; positions from 1."""
    start, end = reads.window_start, reads.window_end
    pileup = pileup_of(
        reads.reads, reads.samples, samples, reads.reference, start, end, min_quality=10
    )
    probabilities = activity_probabilities(pileup, OPTIONS)
    return {start + 1 + int(at): float(probabilities[at]) for at in np.flatnonzero(probabilities)}


def test_active_sites_of_gatk(data_dir: Path) -> None:
    """Sites of HaplotypeCallerIntegrationTest and its recorded regions, on our reads."""
    reads = segment_reads(bam_of(data_dir, "NA12878"), "chr20", START - 1, START + 3000)
    loci = {at: p for at, p in active_loci(reads).items() if 9_999_900 <= at <= 10_001_100}
    assert loci == dict.fromkeys(
        [9999996, 9999997, 10000117, 10000211, 10000439, 10000598, 10000694, 10000758, 10001019],
        1.0,
    )
    found = [(start + 1, end) for start, end in spans_of(active_regions(reads, 1, OPTIONS))]
    recorded = [
        (10000080, 10000154),
        (10000174, 10000248),
        (10000402, 10000476),
        (10000561, 10000635),
        (10000657, 10000795),
    ]
    assert found[:5] == recorded
    assert (10002021, 10002182) in found
    inactive = [(10000796, 10000981), (10001710, 10002020)]
    for first, last in inactive:
        assert all(end < first or start > last for start, end in found)


@pytest.mark.parametrize(
    ("sample", "loci", "regions", "share"), [("NA12878", 278, 92, 18), ("HG002", 251, 100, 20)]
)
def test_development_region(
    data_dir: Path, sample: str, loci: int, regions: int, share: int
) -> None:
    reads = segment_reads(bam_of(data_dir, sample), "chr20", START, END)
    assert len(active_loci(reads)) == loci
    spans = spans_of(active_regions(reads, 1, OPTIONS))
    assert len(spans) == regions
    assert round(sum(end - start for start, end in spans) / (END - START) * 100) == share


def test_padding_is_cut_to_the_contig(data_dir: Path) -> None:
    reads = segment_reads(bam_of(data_dir, "NA12878"), "chr20", START, START + 1000)
    found = active_regions(reads, 1, OPTIONS)
    assert found is not None
    assert (found.padded_starts == found.starts - 100).all()
    assert (found.padded_ends == found.ends + 100).all()


@pytest.mark.parametrize("samples", [1, 2])
def test_segments_give_the_regions_of_the_whole(data_dir: Path, samples: int) -> None:
    paths = [bam_of(data_dir, name) for name in ("NA12878", "HG002")[:samples]]
    interval = (START, END)
    whole = spans_of(active_regions(segment_reads(paths, "chr20", *interval), samples, OPTIONS))
    rng = np.random.default_rng(0)
    cuts = sorted({START, END, *rng.integers(START, END, 7).tolist()})
    for start, end in pairwise(cuts):
        reads = segment_reads(paths, "chr20", start, end, interval, room=ROOM_AFTER)
        regions = active_regions(reads, samples, OPTIONS)
        if regions is not None:
            expected = [span for span in whole if start - LEAD <= span[0] < end]
            assert spans_of(regions) == expected


def test_options_change_the_regions(data_dir: Path) -> None:
    reads = segment_reads(bam_of(data_dir, "NA12878"), "chr20", START, START + 20_000)
    default = spans_of(active_regions(reads, 1, OPTIONS))
    likelier = replace(OPTIONS, heterozygosity=0.2, heterozygosity_deviation=0.2)
    assert spans_of(active_regions(reads, 1, likelier)) != default
    assert spans_of(active_regions(reads, 1, OPTIONS, min_base_quality=35)) != default


def made_segment(start: int, end: int, interval: tuple[int, int], contig: int) -> SegmentReads:
    """Return ten reads of a SNV at 500 of a contig of A."""
    length = 20
    reads = [
        PlainRead(490, [(length, "M")], "A" * 10 + "C" + "A" * 9, [30] * length) for _ in range(10)
    ]
    batch, samples = batch_of(reads)
    reference = ReferenceSlice(0, np.full(contig, ord("A"), dtype=np.uint8))
    segment = Segment("c", contig, start, end, *interval)
    return SegmentReads(segment, 0, contig, reference, batch, samples)


@pytest.mark.parametrize(
    ("interval", "contig", "expected"),
    [
        ((0, 1000), 1000, [(462, 537)]),
        ((480, 1000), 1000, [(480, 537)]),
        ((0, 510), 1000, [(462, 510)]),
        ((499, 500), 1000, [(499, 500)]),
        ((0, 520), 520, [(462, 520)]),
        ((0, 499), 1000, []),
        ((500, 900), 1000, []),
    ],
)
def test_calling_intervals_and_contigs_end_regions(
    interval: tuple[int, int], contig: int, expected: list[tuple[int, int]]
) -> None:
    reads = made_segment(*interval, interval, contig)
    found = active_regions(reads, 1, OPTIONS)
    assert spans_of(found) == expected
    assert found is not None
    assert found.padded_starts.tolist() == [start - 100 for start, _ in expected]
    assert found.padded_ends.tolist() == [min(end + 100, contig) for _, end in expected]


def test_a_segment_without_reads() -> None:
    reads = made_segment(0, 1000, (0, 1000), 1000)
    none = np.empty(0, dtype=np.int64)
    empty = replace(reads, reads=reads.reads.take(none), samples=reads.samples[none])
    assert spans_of(active_regions(empty, 1, OPTIONS)) == []


def test_windows_that_are_too_small() -> None:
    reads = made_segment(0, 500, (0, 1000), 1000)
    with pytest.raises(ValueError, match="ends too early"):
        active_regions(replace(reads, window_end=500 + ROOM_AFTER - 1), 1, OPTIONS)
    with pytest.raises(ValueError, match="not within its calling interval"):
        active_regions(made_segment(0, 1000, (0, 999), 1000), 1, OPTIONS)
    with pytest.raises(ValueError, match="not within its calling interval"):
        active_regions(made_segment(300, 300, (0, 1000), 1000), 1, OPTIONS)
    later = replace(made_segment(300, 400, (0, 1000), 1000), window_start=1)
    assert active_regions(later, 1, OPTIONS) is None  # the lead starts at 0
    assert MAX_ROOM_BEFORE == 2 * 16_384 + 50
