"""Junctions of split reads: against plain Python, and cases at each limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.batches import ActiveRegions, Segment
from hapgpu.calling.regions.junctions import NO_JUNCTIONS, Junctions, junctions_of, widened_to
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.regions.made_splits import (
    QUALITY,
    changed,
    random_text,
    reads_in_segment,
    split_read,
)
from tests.calling.regions.plain_junctions import Junction, plain_junctions
from tests.calling.regions.reference import PlainRead
from tests.example_counts import many

START = 400
"""Position of the first base of the reference slice."""
TEXT = random_text(np.random.default_rng(1), 1600)
MIN_QUALITY = 10


def found_in(
    reads: Sequence[PlainRead], text: str, start: int = START, min_quality: int = MIN_QUALITY
) -> list[Junction]:
    reference = ReferenceSlice(start, np.frombuffer(text.encode(), np.uint8))
    window = (start, start + len(text))
    segment = Segment("c", 100_000, *window, *window)
    junctions = junctions_of(reads_in_segment(reads, reference, segment, window), min_quality)
    return pairs_of(junctions)


def pairs_of(junctions: Junctions) -> list[Junction]:
    return list(zip(junctions.starts.tolist(), junctions.ends.tolist(), strict=True))


def random_reference(rng: np.random.Generator) -> str:
    """Return bases, perhaps with N, of few letters, or with a tandem repeat of a long unit."""
    letters = str(rng.choice(["ACGT", "ACGT", "AC"]))
    text = random_text(rng, int(rng.integers(500, 1000)), letters)
    if rng.random() < 0.4:
        unit = random_text(rng, int(rng.integers(15, 70)), letters)
        at = int(rng.integers(len(text)))
        text = text[:at] + unit * int(rng.integers(2, 6)) + text[at:]
    return changed(rng, text, float(rng.choice([0.0, 0.05])))


def random_split(rng: np.random.Generator, text: str, left: int, jump: int) -> PlainRead:
    """Return a read clipped near a junction, at one or both ends; offsets are on the slice."""
    shift = int(rng.choice([0, 0, 0, rng.integers(-5, 6), rng.integers(-60, 61)]))
    right = min(max(left + jump + shift, 0), len(text))
    left = min(max(left + shift, 0), len(text))
    clip = int(rng.choice([rng.integers(1, 25), rng.integers(15, 60), rng.integers(15, 60)]))
    middle = int(rng.integers(5, 30))
    inner = [(middle, "M"), *[(3, "D"), (4, "M"), (2, "I"), (6, "M")][: int(rng.choice([0, 4]))]]
    spans = sum(length for length, letter in inner if letter in "MD")
    bases = random_text(rng, sum(length for length, letter in inner if letter in "MI"))
    cigar: list[tuple[int, str]] = list(inner)
    is_left = rng.random() < 0.5
    if is_left:
        position = right
        clipped = text[max(left - clip, 0) : left]
        cigar, bases = [(len(clipped), "S"), *inner], clipped + bases
    else:
        position = left - spans
        clipped = text[right : right + clip]
        cigar, bases = [*inner, (len(clipped), "S")], bases + clipped
    if not clipped:
        cigar = list(inner)
    if rng.random() < 0.2:
        other = random_text(rng, int(rng.integers(1, 40)))
        cigar = [*cigar, (len(other), "S")] if is_left else [(len(other), "S"), *cigar]
        bases = bases + other if is_left else other + bases
    if rng.random() < 0.2:
        cigar = [(7, "H"), *cigar]
    if rng.random() < 0.2:
        cigar = [*cigar, (9, "H")]
    qualities = np.full(len(bases), QUALITY)
    if rng.random() < 0.3:
        qualities[: rng.integers(12)] = MIN_QUALITY - 1
        qualities[len(bases) - rng.integers(12) :] = MIN_QUALITY - 1
    qualities[rng.random(len(bases)) < 0.02] = 2
    return PlainRead(
        START + position + 1,
        cigar,
        changed(rng, bases, float(rng.choice([0.0, 0.0, 0.03, 0.1]))),
        qualities.tolist(),
    )


@given(st.integers(0, 2**32))
@settings(max_examples=many(150))
def test_as_plain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = random_reference(rng)
    reads = []
    for _ in range(rng.integers(1, 5)):
        size = int(rng.choice([rng.integers(10, 25), rng.integers(20, 300), 299, 300, 301]))
        jump = size if rng.random() < 0.5 else -size
        left = int(rng.integers(0, len(text) + 1))
        reads += [random_split(rng, text, left, jump) for _ in range(rng.integers(1, 5))]
    found = found_in(reads, text)
    assert sorted(found) == sorted(plain_junctions(reads, text, START, MIN_QUALITY))


def test_most_made_junctions_are_found() -> None:
    """So the property test compares junctions, not only empty lists."""
    rng = np.random.default_rng(5)
    counts = [
        len(found_in([random_split(rng, TEXT, 700, jump) for _ in range(4)], TEXT))
        for jump in rng.integers(30, 290, 60).tolist()
    ]
    assert sum(count > 0 for count in counts) > 30


def splits(
    left: int, right: int, clips: Sequence[int], *, is_left: bool = False, text: str = TEXT
) -> list[PlainRead]:
    """Return reads with clips of these lengths at a junction; offsets are on the slice."""
    padded = " " * START + text
    lengths = [(clip, 30) if is_left else (30, clip) for clip in clips]
    return [split_read(padded, START + left, START + right, n, is_left=is_left) for n in lengths]


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("jump", [-300, -60, -20, 20, 60, 300])
def test_a_deletion_or_duplication(jump: int, *, is_left: bool) -> None:
    reads = splits(700, 700 + jump, [40, 45], is_left=is_left)
    both = START + 700, START + 700 + jump
    assert found_in(reads, TEXT) == [(min(both), max(both))]


def test_both_ends_of_a_junction_count() -> None:
    reads = splits(700, 800, [40]) + splits(700, 800, [40], is_left=True)
    assert found_in(reads, TEXT) == [(START + 700, START + 800)]
    assert found_in(reads[:1], TEXT) == []


@pytest.mark.parametrize("jump", [-301, -19, -1, 0, 1, 19, 301])
def test_too_near_or_too_far(jump: int) -> None:
    assert found_in(splits(700, 700 + jump, [40, 40, 40]), TEXT) == []


@pytest.mark.parametrize(("clip", "count"), [(12, 0), (15, 0), (16, 1), (20, 1)])
def test_bases_that_agree(clip: int, count: int) -> None:
    assert len(found_in(splits(700, 800, [clip, clip]), TEXT)) == count


@pytest.mark.parametrize(("apart", "count"), [(50, 1), (51, 0)])
def test_reads_of_one_junction_are_clipped_near_each_other(apart: int, count: int) -> None:
    """The bases agree for longer than the jump if the text is periodic."""
    text = TEXT[:400] + TEXT[400:640] * 2 + TEXT[640:]
    reads = splits(500, 740, [40], text=text) + splits(500 + apart, 740 + apart, [40], text=text)
    expected = [(START + 500, START + 740 + apart)]
    assert found_in(reads, text) == expected[:count]


@pytest.mark.parametrize(("differing", "count"), [(3, 0), (4, 1)])
def test_a_second_position_needs_fewer_bases(differing: int, count: int) -> None:
    """The clip agrees with two positions, but for its last bases at the second one."""
    part = TEXT[800:840]
    other = part[: 40 - differing] + "".join("A" if b != "A" else "C" for b in part[-differing:])
    text = TEXT[:900] + other + TEXT[940:]
    assert len(found_in(splits(700, 800, [40, 40], text=text), text)) == count


@pytest.mark.parametrize(("quality", "count"), [(9, 0), (10, 1)])
def test_low_qualities_at_the_end_are_not_compared(quality: int, count: int) -> None:
    """Of 30 bases, 15 are left; those of the other end of the clip are compared at any quality."""
    reads = [
        PlainRead(
            r.position, r.cigar, r.bases, [QUALITY] * 30 + [2] + [QUALITY] * 14 + [quality] * 15
        )
        for r in splits(700, 800, [30, 30])
    ]
    assert len(found_in(reads, TEXT)) == count


def test_positions_before_and_after_the_slice_are_not_compared() -> None:
    at_end = splits(1500, 1600 - 45, [45, 45])
    assert found_in(at_end, TEXT) == [(START + 1500, START + 1555)]
    assert found_in(at_end, TEXT[:-1]) == []
    at_start = splits(45, 100, [45, 45], is_left=True)
    assert found_in(at_start, TEXT) == [(START + 45, START + 100)]
    assert found_in(at_start, TEXT[1:], START + 1) == []


def test_no_reads_or_no_clips() -> None:
    assert found_in([], TEXT) == []
    plain = PlainRead(START + 101, [(50, "M")], TEXT[100:150], [QUALITY] * 50)
    clipped = PlainRead(START + 101, [(3, "H"), (50, "S"), (2, "H")], TEXT[100:150], [QUALITY] * 50)
    assert found_in([plain, plain, clipped, clipped], TEXT) == []


@st.composite
def made_spans(draw: st.DrawFn) -> tuple[Junctions, ActiveRegions, int]:
    """Draw junctions, ascending active regions, and the length of their contig."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    length = int(rng.integers(1500, 3000))
    cuts = np.unique(rng.integers(0, length + 1, 2 * rng.integers(0, 7)))
    cuts = cuts[: cuts.size // 2 * 2]
    starts, ends = cuts[::2], cuts[1::2]
    regions = ActiveRegions(
        starts, ends, np.maximum(starts - 100, 0), np.minimum(ends + 100, length)
    )
    at = rng.integers(0, length - 20, rng.integers(0, 9))
    if cuts.size:  # ends of junctions at those of regions
        at = np.where(rng.random(at.size) < 0.4, rng.choice(cuts, at.size), at)
    sizes = rng.choice([20, 60, 299, 300, 301, 349], at.size)
    return Junctions(at, np.minimum(at + sizes, length)), regions, length


@given(made_spans())
@settings(max_examples=many(300))
def test_padded_spans_by_the_definition(made: tuple[Junctions, ActiveRegions, int]) -> None:
    junctions, regions, length = made
    earlier = [getattr(regions, name).copy() for name in ActiveRegions.__dataclass_fields__]
    reference = ReferenceSlice(0, np.zeros(0, np.uint8))
    reads = reads_in_segment([], reference, Segment("c", length, 0, 1, 0, 1), (0, 1))
    found = widened_to(junctions, regions, reads)
    expected = []
    for start, end, padded_start, padded_end in zip(*(x.tolist() for x in earlier), strict=True):
        low, high = padded_start, padded_end
        for first, last in pairs_of(junctions):
            if any(start <= position <= end for position in (first, last)):
                low = min(low, max(first, start - 300) - 100)
                high = max(high, min(last, end + 300) + 100)
        expected.append((start, end, max(low, 0), min(high, length)))
    columns = (found.starts, found.ends, found.padded_starts, found.padded_ends)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    for name, column in zip(ActiveRegions.__dataclass_fields__, earlier, strict=True):
        assert (getattr(regions, name) == column).all()
    holds = [
        any(low <= first and last <= high for first, last in pairs_of(junctions))
        for _, _, low, high in expected
    ]
    assert junctions.are_in(found).tolist() == holds


def test_no_junctions() -> None:
    spans = [np.array([500]), np.array([600]), np.array([400]), np.array([700])]
    regions = ActiveRegions(*spans)
    none = np.empty(0, dtype=np.int64)
    assert NO_JUNCTIONS.are_in(regions).tolist() == [False]
    assert NO_JUNCTIONS.are_in(ActiveRegions(none, none, none, none)).tolist() == []
    junctions = Junctions(np.array([450]), np.array([650]))
    assert junctions.are_in(ActiveRegions(none, none, none, none)).tolist() == []


def test_a_read_that_is_clipped_at_both_ends_counts_once() -> None:
    """A read within three copies of a unit of which the reference has one."""
    unit, clip = TEXT[700:760], 40
    bases = unit[-clip:] + unit + unit[:clip]
    cigar = [(clip, "S"), (60, "M"), (clip, "S")]
    reads = [PlainRead(START + 701, cigar, bases, [QUALITY] * len(bases))] * 2
    assert found_in(reads[:1], TEXT) == []
    assert found_in(reads, TEXT) == [(START + 700, START + 760)]
