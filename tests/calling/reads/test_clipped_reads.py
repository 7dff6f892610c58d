"""Reads clipped to active regions, against a walk over every base, and cases of GATK."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.batches import RegionReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.finalized import finalized_reads, passing, reclipped_reads
from hapgpu.cigar.encoding import query_lengths, reference_lengths
from tests.calling.reads.clipping_oracle import finalized, reclipped
from tests.calling.reads.made_segments import (
    LENGTH,
    Plain,
    made_row,
    plain_clipped,
    plain_reads,
    regions_of,
    segment_of,
    trimmed_to,
)
from tests.calling.segments import segment_reads
from tests.example_counts import many
from tests.io.sam_oracle import Row, rows_of_file

MIN_BASES = 10  # GATK's READ_LENGTH_FILTER_THRESHOLD

Span = tuple[int, int]

MIDDLES = st.lists(
    st.tuples(
        st.sampled_from("MM=X"), st.integers(1, 6), st.sampled_from("IDP"), st.integers(1, 4)
    ),
    max_size=3,
)
LEADING = st.sampled_from(["", "", "", "3S", "12S", "2H", "2H5S"])
TRAILING = st.sampled_from(["", "", "", "3S", "12S", "2H", "5S2H"])
QUALITIES = st.sampled_from([2, 9, 10, 19, 30, 30, 30, 41])


@st.composite
def cigars(draw: st.DrawFn) -> str:
    """Draw CIGARs that `CallFilter` keeps: matches, gaps between them, insertions at the ends."""
    gaps = "".join(f"{m}{match}{n}{gap}" for match, m, gap, n in draw(MIDDLES))
    first, last = (draw(st.sampled_from(["", "", "", "2I"])) for _ in range(2))
    aligned = f"{first}{gaps}{draw(st.integers(1, 12))}M{last}"
    return f"{draw(LEADING)}{aligned}{draw(TRAILING)}"


@st.composite
def rows(draw: st.DrawFn) -> Row:
    plain = made_row(
        draw(st.sampled_from(["a", "a", "b", "ab", "longer:name:1", "longer:name:10"])),
        draw(st.integers(0, 60)),
        draw(cigars()),
        flag=draw(st.sampled_from([0, 16, 1, 17, 33, 33, 49, 17, 97, 145, 41, 2081])),
        mapping_quality=draw(st.sampled_from([60, 20, 10])),
        mate_reference=draw(st.sampled_from([0, 0, 0, 1, -1])),
        mate_position=draw(st.integers(-1, 70)),
        template_length=draw(st.sampled_from([0, 5, 20, 40, -5, -20, -40])),
    )
    count = len(plain.bases)
    bases = draw(st.text("ACN", min_size=count, max_size=count))
    values = draw(st.lists(QUALITIES, min_size=count, max_size=count))
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return Row(**(fields | {"bases": bases, "qualities": tuple(values)}))


SPANS = st.lists(
    st.tuples(st.integers(0, 70), st.integers(1, 40)).map(lambda s: (s[0], s[0] + s[1])),
    min_size=1,
    max_size=4,
).map(sorted)
SEGMENTS = st.lists(rows(), max_size=12).map(lambda r: sorted(r, key=lambda row: row.position))


def found(reads: list[Row], samples: list[int], spans: list[Span], **options: Any) -> RegionReads:
    segment = segment_of(reads, samples)
    return finalized_reads(segment, regions_of(spans), AssemblyOptions(**options))


@settings(max_examples=many(150))
@given(SEGMENTS, st.randoms(), SPANS, st.sampled_from([10, 10, 0, 31]), st.booleans())
def test_made_up_reads(
    reads: list[Row], random: Any, spans: list[Span], min_quality: int, uses_clips: bool
) -> None:
    samples = [random.randrange(2) for _ in reads]
    options = {"min_base_quality": min_quality, "use_soft_clipped_bases": uses_clips}
    clipped = found(reads, samples, spans, **options)
    names = {"min_base_quality": min_quality, "use_soft_clips": uses_clips}
    regions = [finalized(reads, samples, span, **names) for span in spans]
    assert plain_reads(clipped) == [plain_clipped(region) for region in regions]
    segment = segment_of(reads, samples)
    kept = [k for k in range(len(spans)) if random.random() < 0.7]
    inner = [(start + random.randrange(3), end + random.randrange(-3, 1)) for start, end in spans]
    inner = [(start, max(end, start + 1)) for start, end in inner]
    again = reclipped_reads(clipped, segment, trimmed_to(kept, [inner[k] for k in kept]))
    expected = [reclipped(regions[k], inner[k], MIN_BASES) for k in kept]
    assert plain_reads(again) == [plain_clipped(region) for region in expected]


def only(reads: list[Row], span: Span = (0, LENGTH), **options: Any) -> list[Plain]:
    (region,) = plain_reads(found(reads, [0] * len(reads), [span], **options))
    return region


def mates(one: tuple[int, str, str], other: tuple[int, str, str]) -> list[Row]:
    """Return two mates on one strand, each by its position, CIGAR and bases."""
    pair = []
    for (position, cigar, bases), (mate, _, _) in ((one, other), (other, one)):
        more = {"flag": 1, "mate_reference": 0, "mate_position": mate, "bases": bases}
        pair.append(made_row("r", position, cigar, **more))
    return pair


def test_overlapping_mates_of_gatk() -> None:
    # FragmentUtilsUnitTest: half of the quality of an error in PCR is 20.
    one, other = only(mates((0, "7M", "CCCACGT"), (3, "7M", "ACGTAAA")))
    assert one[-1] == [30] * 3 + [20] * 4
    assert other[-1] == [20] * 4 + [30] * 3
    one, other = only(mates((0, "7M", "CCCACGT"), (3, "1I7M", "TACGTAAA")))
    assert one[-1] == [30] * 3 + [20] * 4
    assert other[-1] == [30] + [20] * 4 + [30] * 3


def test_conflicting_mates_get_quality_0() -> None:
    one, other = only(mates((0, "7M", "CCCACGT"), (3, "7M", "ACTTAAA")))
    assert one[-1] == [30] * 3 + [20, 20, 0, 20]
    assert other[-1] == [20, 20, 0, 20] + [30] * 3


def test_mates_of_two_samples_do_not_overlap() -> None:
    pair = mates((0, "7M", "CCCACGT"), (3, "7M", "ACGTAAA"))
    (region,) = plain_reads(found(pair, [0, 1], [(0, LENGTH)]))
    assert [read[-1] for read in region] == [[30] * 7] * 2


def test_mates_are_compared_by_index() -> None:
    """The first mate has its base after the deletion at the start of the second."""
    one, other = only(mates((0, "4M3D4M", "ACGTGGGG"), (5, "6M", "TTGGGG")))
    assert one[-1] == [30] * 4 + [0, 0, 20, 20]
    assert other[-1] == [0, 0, 20, 20, 30, 30]


@pytest.mark.parametrize(("count", "shared"), [(2, 2), (3, 2), (4, 4)])
def test_alignments_of_one_name_pair_in_order(count: int, shared: int) -> None:
    """A third alignment, such as a supplementary one, waits for a fourth."""
    more = {"flag": 1, "mate_reference": 0, "mate_position": 0, "bases": "A" * 9}
    reads = only([made_row("r", k, "9M", **more) for k in range(count)])
    assert [20 in read[-1] for read in reads] == [True] * shared + [False] * (count - shared)


def test_mates_that_start_after_the_end_do_not_wait() -> None:
    """The mate field counts, not the alignment of the mate that is there."""
    pair = mates((0, "7M", "CCCACGT"), (3, "7M", "ACGTAAA"))
    pair[0] = replace(pair[0], mate_position=7)
    assert [read[-1] for read in only(pair)] == [[30] * 7] * 2
    pair[0] = replace(pair[0], mate_position=6)
    assert [min(read[-1]) for read in only(pair)] == [20, 20]


PAIR = {"mate_reference": 0, "flag": 33, "mate_position": 100, "template_length": 120}
"""A forward read in a well-defined fragment."""


@pytest.mark.parametrize(
    ("cigar", "span", "expected"),
    [
        ("10M", (103, 106), (103, "3M")),
        ("4M2I4M", (104, 106), (104, "2I2M")),
        ("4M2I4M", (102, 104), (102, "2M2I")),
        ("4M2I4M", (105, 106), (105, "1M")),
        ("4M9D4M", (106, 115), (113, "2M")),
        ("4M9D4M", (102, 107), (102, "2M")),
        ("4M9D4M", (103, 114), (103, "1M9D1M")),
        ("4M9D4M", (105, 112), None),
        ("2I4M2I", (100, 104), (100, "2I4M2I")),
        ("3S4M3S", (0, 400), (100, "4M")),
        ("2H4=1X4=", (102, 106), (102, "2=1X1=")),
    ],
)
def test_clips_to_the_span(cigar: str, span: Span, expected: tuple[int, str] | None) -> None:
    reads = only([made_row("r", 100, cigar)], span)
    assert [(read[3], read[5]) for read in reads] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("position", "cigar", "expected"),
    [
        (100, "3S4M3S", (97, "10M")),
        (100, "3S2I4M3S", (97, "3M2I7M")),
        (2, "5S4M", (0, "6M")),
        (2, "5S4=", (0, "2M4=")),
    ],
)
def test_soft_clips_of_well_defined_fragments(
    position: int, cigar: str, expected: tuple[int, str]
) -> None:
    (read,) = only([made_row("r", position, cigar, **PAIR)])
    assert (read[3], read[5]) == expected
    (read,) = only([made_row("r", position, cigar, **PAIR)], use_soft_clipped_bases=False)
    assert "S" not in read[5]
    assert read[3] == position


def test_soft_clips_alone_do_not_reach_the_span() -> None:
    """A read that ends where the span starts is left out, though its soft clip is in it."""
    reads = [made_row("longer", 100, "8M"), made_row("r", 100, "4M3S", **PAIR)]
    assert [(read[0], read[3], read[5]) for read in only(reads, (104, LENGTH))] == [(0, 104, "4M")]
    assert len(only(reads, (103, LENGTH))) == 2


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"flag": 33, "mate_position": 100, "template_length": 6}, (100, "6M")),
        ({"flag": 33, "mate_position": 100, "template_length": -6}, (100, "10M")),
        ({"flag": 33, "mate_position": 106, "template_length": -6}, (100, "6M")),
        ({"flag": 33, "mate_position": 100, "template_length": 10}, (100, "10M")),
        ({"flag": 17, "mate_position": 103, "template_length": -6}, (103, "7M")),
        ({"flag": 17, "mate_position": 100, "template_length": -6}, (100, "10M")),
        ({"flag": 17, "mate_position": 101, "template_length": -6}, (101, "9M")),
        ({"flag": 17, "mate_position": 108, "template_length": -6}, (108, "2M")),
        ({"flag": 17, "mate_position": 109, "template_length": -6}, (100, "10M")),
        ({"flag": 49, "mate_position": 103, "template_length": -6}, (100, "10M")),
        ({"flag": 41, "mate_position": 100, "template_length": 6}, (100, "10M")),
        ({"flag": 33, "mate_position": 100, "template_length": 0}, (100, "10M")),
    ],
)
def test_adaptors(more: dict[str, int], expected: tuple[int, str]) -> None:
    (read,) = only([made_row("r", 100, "10M", mate_reference=0, **more)])
    assert (read[3], read[5]) == expected


@pytest.mark.parametrize(
    ("low", "more", "span", "expected"),
    [
        (range(6), {}, (104, LENGTH), (104, "4M")),
        (range(4, 10), {}, (0, 104), (100, "4M")),
        (range(4, 10), PAIR | {"template_length": 4}, (0, LENGTH), (100, "4M")),
    ],
)
def test_inserted_bases_of_low_quality_stay_clipped(
    low: range, more: dict[str, int], span: Span, expected: tuple[int, str]
) -> None:
    """Also if what is left starts or ends where the span, or the adaptor, does."""
    qualities = tuple(2 if base in low else 30 for base in range(10))
    (read,) = only([made_row("r", 100, "4M2I4M", qualities=qualities, **more)], span)
    assert (read[3], read[5]) == expected


def test_low_quality_ends() -> None:
    qualities = (9, 9, 10, 2, 30, 30, 9, 30, 9, 2)
    (read,) = only([made_row("r", 100, "10M", qualities=qualities)])
    assert (read[3], read[4], read[-1]) == (102, 108, [10, 2, 30, 30, 9, 30])
    assert only([made_row("r", 100, "10M", qualities=(9,) * 10)]) == []
    (read,) = only([made_row("r", 100, "2M3D8M", qualities=(2, 2) + (30,) * 8)])
    assert (read[3], read[5]) == (105, "8M")


def test_reads_with_inserted_bases_only_are_dropped() -> None:
    assert only([made_row("r", 100, "2M3I2M", qualities=(2, 2, 30, 30, 30, 2, 2))]) == []


def test_order_of_gatk() -> None:
    common = {"mate_reference": 0, "template_length": 0}
    sorted_rows = [
        made_row("a", 100, "8M", mapping_quality=20),
        made_row("a", 100, "8M"),
        made_row("a", 100, "8M", flag=2048),
        made_row("ab", 100, "8M", flag=1, mate_position=7, **common),
        made_row("ab", 100, "8M", flag=1, mate_position=8, **common),
        made_row("b", 100, "8M", template_length=-1),
        made_row("b", 100, "8M", template_length=1),
        made_row("a", 100, "8M", flag=16),
        made_row("a", 101, "8M"),
    ]
    rng = np.random.default_rng(7)
    for _ in range(5):
        order = [*rng.permutation(8).tolist(), 8]
        reads = only([sorted_rows[k] for k in order])
        assert [order[read[0]] for read in reads] == list(range(9))


def test_no_reads_and_no_active_regions() -> None:
    assert plain_reads(found([], [], [(0, 10)])) == [[]]
    clipped = found([made_row("r", 100, "8M")], [0], [])
    assert plain_reads(clipped) == []
    segment = segment_of([made_row("r", 100, "8M")], [0])
    assert plain_reads(reclipped_reads(clipped, segment, trimmed_to([], []))) == []


def test_passing_reads() -> None:
    reads = [
        made_row("long", 100, "10M"),
        made_row("short", 100, "9M"),
        made_row("low", 100, "10M", mapping_quality=19),
        made_row("apart", 100, "10M", flag=1, mate_reference=1, mate_position=5),
        made_row("together", 100, "10M", flag=1, mate_reference=0, mate_position=5),
        made_row("unmapped mate", 100, "10M", flag=9, mate_reference=1, mate_position=5),
        made_row("no mate", 100, "10M", flag=1),
        made_row("unpaired", 100, "10M", flag=0, mate_reference=1, mate_position=5),
    ]
    segment = segment_of(reads, [0] * len(reads))
    clipped = finalized_reads(segment, regions_of([(90, 120)]), AssemblyOptions())
    names = [reads[row].name for row in clipped.take(passing(clipped, segment)).rows]
    assert names == ["long", "no mate", "together", "unmapped mate", "unpaired"]
    again = reclipped_reads(clipped, segment, trimmed_to([0], [(90, 120)]))
    assert "short" not in {reads[row].name for row in again.rows}


@pytest.mark.parametrize("sample", ["HG002", pytest.param("NA12878", marks=pytest.mark.exhaustive)])
def test_real_reads(data_dir: Path, sample: str) -> None:
    path = data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam"
    start, end = 10_000_000, 10_012_000
    segment = segment_reads(path, "chr20", start, end)
    first = range(start + 250, end - 400, 431)
    spans = [(at - 100, at + 75 + 100) for at in first]
    regions = regions_of(spans)
    clipped = finalized_reads(segment, regions, AssemblyOptions())
    assert np.array_equal(query_lengths(clipped.cigars), clipped.base_ends - clipped.base_starts)
    assert np.array_equal(query_lengths(clipped.cigars), clipped.qualities.lengths)
    assert np.array_equal(reference_lengths(clipped.cigars), clipped.ends - clipped.starts)
    inside = {
        (row.name, row.flag, row.position): row
        for row in rows_of_file(path)
        if start - 3000 < row.position < end + 3000
    }
    reads = segment.reads
    keys = zip(reads.names, reads.flags.tolist(), reads.positions.tolist(), strict=True)
    rows = [inside[name.tobytes().decode(), flag, position] for name, flag, position in keys]
    expected = [finalized(rows, [0] * len(rows), span) for span in spans]
    assert plain_reads(clipped) == [plain_clipped(region) for region in expected]
    inner = [(at - 20, at + 75 + 20) for at in first]
    again = reclipped_reads(clipped, segment, trimmed_to(range(len(inner)), inner))
    trimmed = [
        reclipped(region, span, MIN_BASES) for region, span in zip(expected, inner, strict=True)
    ]
    assert plain_reads(again) == [plain_clipped(region) for region in trimmed]
