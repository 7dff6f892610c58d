"""Active regions of segments: GATK's on real reads, the same from any window."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hapgpu.calling.batches import LEAD, REFERENCE_ROOM, ActiveRegions, Segment, SegmentReads
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.reads.windows import Room
from hapgpu.calling.regions.active_regions import (
    MAX_ROOM_BEFORE,
    ROOM_AFTER,
    ROOM_BEFORE,
    active_regions,
    all_regions,
)
from hapgpu.calling.regions.activity import activity_probabilities
from hapgpu.calling.regions.junctions import NO_JUNCTIONS, Junctions, junctions_of, widened_to
from hapgpu.calling.regions.pileup import pileup_of
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.regions.made_reads import batch_of
from tests.calling.regions.made_splits import end_of, random_text, reads_in_segment, split_read
from tests.calling.regions.reference import PlainRead
from tests.calling.segments import segment_reads

OPTIONS = VariantOptions()
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
    reads = made_segment(0, 500, (0, 2000), 2000)
    with pytest.raises(ValueError, match="ends too early"):
        active_regions(replace(reads, window_end=500 + ROOM_AFTER - 1), 1, OPTIONS)
    assert active_regions(replace(reads, window_end=500 + ROOM_AFTER), 1, OPTIONS) is not None
    with pytest.raises(ValueError, match="not within its calling interval"):
        active_regions(made_segment(0, 1000, (0, 999), 1000), 1, OPTIONS)
    with pytest.raises(ValueError, match="not within its calling interval"):
        active_regions(made_segment(300, 300, (0, 1000), 1000), 1, OPTIONS)
    later = replace(made_segment(300, 400, (0, 1000), 1000), window_start=1)
    assert active_regions(later, 1, OPTIONS) is None  # the lead starts at 0
    assert MAX_ROOM_BEFORE == 2 * 16_384 + 50 + 300


ROOM = Room(LEAD + ROOM_BEFORE, LEAD + MAX_ROOM_BEFORE, ROOM_AFTER)
LENGTH = 9000
SPLIT_TEXT = random_text(np.random.default_rng(3), LENGTH)
Found = list[tuple[int, int, int, int, bool]]
"""Start, end, padded start and padded end of active regions, and whether each has a junction."""


def split_reads(left: int, right: int, shift: int = 0) -> list[PlainRead]:
    """Return two reads of a junction, one clipped at each end; the second end is `shift` later."""
    first = split_read(SPLIT_TEXT, left, right, (40, 35), is_left=False)
    moved = (left + shift, right + shift)
    return [first, split_read(SPLIT_TEXT, *moved, (35, 40), is_left=True)]


def in_window(
    reads: list[PlainRead], span: tuple[int, int], interval: tuple[int, int], *, far: bool
) -> SegmentReads:
    """Return the reads and the reference of a segment, as they are read from files."""
    segment = Segment("c", LENGTH, *span, *interval)
    start, end = ROOM.window(segment, far=far)
    first, last = max(start - REFERENCE_ROOM, 0), min(end + REFERENCE_ROOM, LENGTH)
    bases = np.frombuffer(SPLIT_TEXT[first:last].encode(), np.uint8)
    own = [read for read in reads if end_of(read) > start and read.position - 1 < end]
    return reads_in_segment(own, ReferenceSlice(first, bases), segment, (start, end))


def regions_from(
    reads: list[PlainRead], span: tuple[int, int], interval: tuple[int, int] = (0, LENGTH)
) -> Found:
    """Return the active regions from the lead of a segment on."""
    for far in (False, True):
        segment = in_window(reads, span, interval, far=far)
        junctions = junctions_of(segment, 10)
        regions = active_regions(segment, 1, OPTIONS, junctions)
        if regions is not None:
            found = widened_to(junctions, regions, segment)
            columns = (found.starts, found.ends, found.padded_starts, found.padded_ends)
            has_junction = junctions.are_in(found).tolist()
            return list(zip(*(column.tolist() for column in columns), has_junction, strict=True))
    raise AssertionError


def mates(start: int, count: int = 8) -> list[PlainRead]:
    """Return reads with one SNV."""
    bases = SPLIT_TEXT[start : start + 60]
    other = "A" if bases[30] != "A" else "C"
    text = bases[:30] + other + bases[31:]
    return [PlainRead(start + 1, [(60, "M")], text, [30] * 60)] * count


@pytest.mark.parametrize(("start", "end"), [(4000, 4060), (4000, 4290)])
def test_a_junction_is_active_from_end_to_end(start: int, end: int) -> None:
    segment = in_window([], (0, LENGTH), (0, LENGTH), far=False)
    junctions = Junctions(np.array([start]), np.array([end]))
    assert spans_of(active_regions(segment, 1, OPTIONS)) == []
    spans = spans_of(active_regions(segment, 1, OPTIONS, junctions))
    assert spans[0][0] < start - 1
    assert spans[-1][1] > end + 1
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    active = all_regions(segment, 1, OPTIONS, junctions)
    assert active is not None
    assert spans_of(active[0]) == spans
    assert (start - spans[0][0], spans[-1][1] - end) == (47, 47)  # of a SNV: 38 and 37


def test_junctions_may_reach_over_the_interval_and_the_contig() -> None:
    junctions = Junctions(np.array([0, 100, 8990]), np.array([30, 400, LENGTH]))
    segment = in_window([], (200, LENGTH), (200, LENGTH), far=False)
    spans = spans_of(active_regions(segment, 1, OPTIONS, junctions))
    assert (spans[0][0], spans[-1][1]) == (200, LENGTH)
    assert spans_of(active_regions(segment, 1, OPTIONS, NO_JUNCTIONS)) == []


def differing(reads: list[PlainRead], starts: list[int], length: int) -> list[int]:
    """Return the starts of segments whose active regions are not those of the whole contig."""
    whole = regions_from(reads, (0, LENGTH))
    assert any(has_junction for *_, has_junction in whole)
    return [
        start
        for start in starts
        if regions_from(reads, (start, start + length))
        != [row for row in whole if start - LEAD <= row[0] < start + length]
    ]


WINDOW_EDGES = {"start": LEAD + ROOM_BEFORE, "end": -100 - ROOM_AFTER}
"""From the start or end of a window to the start of its segment of 100 bases."""


@pytest.mark.parametrize("edge", WINDOW_EDGES)
@pytest.mark.parametrize(("size", "shift"), [(30, 0), (150, 7), (300, 0), (300, 50)])
def test_regions_with_junctions_at_an_edge_of_the_window(edge: str, size: int, shift: int) -> None:
    """Wherever the window starts or ends: within the junction, in its reads, or beside them."""
    left = 4000
    for ends in ((left, left + size), (left + size, left)):
        reads = split_reads(*ends, shift) + mates(left + 420) + mates(left - 250)
        near = [*range(left - 60, left + 60, 7), *range(left + size - 60, left + size + 120, 7)]
        near += [left + at for at in (-1, 0, 1, size - 1, size, size + 1, size + shift)]
        starts = sorted({at + WINDOW_EDGES[edge] for at in near})
        assert differing(reads, starts, 100) == []


@pytest.mark.parametrize("seed", range(3))
def test_segments_give_the_regions_of_the_whole_with_junctions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reads: list[PlainRead] = []
    for left in range(400, LENGTH - 800, 350):
        size = int(rng.integers(20, 300))
        ends = (left, left + size) if rng.random() < 0.5 else (left + size, left)
        reads += split_reads(*ends, int(rng.integers(-5, 6))) if rng.random() < 0.6 else []
        reads += mates(left + int(rng.integers(300))) if rng.random() < 0.5 else []
    starts = rng.integers(0, LENGTH - 800, 25).tolist()
    assert differing(reads, starts, int(rng.integers(1, 800))) == []
