"""Splits at dropped fills, and inversions between the parts, in short literal cases."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.longread.align.batches import (
    NO_PARENT,
    TEMPORARY_PRIMARY,
    AlignedMappings,
    SequenceCodes,
)
from hapgpu.longread.align.inversions import find_stretches, insert_inversions
from hapgpu.longread.align.parameters import AlignParameters
from hapgpu.longread.align.pipeline import no_alignment
from tests.longread.align.pieces.reference import Anchor
from tests.longread.align.rounds import made_reads as made
from tests.longread.align.rounds.made_reads import Event, Made
from tests.longread.align.rounds.test_rounds import PARAMETERS, SCORING, aligner_of

TARGETS = made.made_targets(7)
LONG_PARAMETERS = PARAMETERS._replace(
    drop=100, inversion_drop=40, min_chain_score=10, min_score=40, min_anchors=3
)


def aligned(
    read: Made, parameters: AlignParameters = LONG_PARAMETERS, parent: int = 0
) -> AlignedMappings:
    """Align the mapping of a read; a parent other than 0 makes it secondary."""
    aligner = aligner_of(TARGETS, SCORING, parameters)
    rows = made.mapping_rows([read], [[parent]])
    return aligner.align(rows, made.mapped_anchors([read]), made.read_codes([read]))


def columns(found: AlignedMappings, *names: str) -> list[tuple[int, ...]]:
    return [tuple(mapping[name].item() for name in names) for mapping in found.mappings]


def cigars(found: AlignedMappings) -> list[str]:
    return cigar_strings(Ragged.from_lengths(found.operations, found.mappings["operations"]))


PLACE = ("query_start", "query_end", "target_start", "target_end")
KINDS = ("split", "is_split_inversion", "is_inversion")
INVERTED = [Event("exact", 100), Event("invert", 60), Event("exact", 120)]


@pytest.mark.parametrize("is_reverse", [False, True])
def test_an_inversion_lies_behind_the_two_parts(is_reverse: bool) -> None:
    found = aligned(made.exact_read(INVERTED, TARGETS, 4, is_reverse=is_reverse))
    query = [(0, 100), (160, 280), (100, 160)]
    if is_reverse:
        query = [(280 - end, 280 - start) for start, end in query]
    target = [(0, 100), (160, 280), (100, 160)]
    assert columns(found, *PLACE) == [(*a, *b) for a, b in zip(query, target, strict=True)]
    assert columns(found, *KINDS) == [(1, 0, 0), (2, 1, 0), (0, 0, 1)]
    assert cigars(found) == ["100M", "120M", "60M"]
    assert found.mappings["is_reverse"].tolist() == [is_reverse, is_reverse, not is_reverse]
    assert found.mappings["dp_score"].tolist() == [200, 240, 120]
    assert found.mappings["dp_max"].tolist() == [200, 240, 120]
    assert found.mappings["matches"].tolist() == [100, 120, 60]
    assert found.mappings["next"].tolist() == [1, 2, -1]


def test_fields_of_the_parts() -> None:
    found = aligned(made.exact_read(INVERTED, TARGETS, 4))
    # 24 anchors before the inversion and 29 behind it: 1000 * 29 / 53 = 547.17.
    names = ("first_anchor", "anchors", "score", "first_score", "hash", "number", "parent")
    assert columns(found, *names) == [
        (0, 24, 453, 1000, 1000, 0, 0),
        (24, 29, 547, 1000, 1000, -1, TEMPORARY_PRIMARY),
        (0, 0, 0, 0, 0, -1, NO_PARENT),
    ]


@pytest.mark.parametrize("parent", [NO_PARENT, 3])
def test_parts_without_own_parent_enclose_no_inversion(parent: int) -> None:
    found = aligned(made.exact_read(INVERTED, TARGETS, 4), parent=parent)
    assert columns(found, "number", "parent", *KINDS) == [
        (0, parent, 1, 0, 0),
        (-1, parent, 2, 1, 0),
    ]


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("inversion_drop", 300, 1),  # 60 mismatches cost 240 at most
        ("min_score", 121, 1),  # the inversion scores 120
        ("min_score", 100, 3),
        ("min_chain_score", 61, 1),  # 60 bases: for the test of the fill
        ("max_gap", 50, 1),  # the drop is longer: no inversion, and too small a drop
    ],
)
def test_limits_of_inversions(name: str, value: int, parts: int) -> None:
    parameters = LONG_PARAMETERS._replace(**{"drop": 300, name: value})
    found = aligned(made.exact_read(INVERTED, TARGETS, 4), parameters)
    assert found.mappings.size == parts


def parts_of(read: Made) -> NDArray[np.void]:
    """Return the two parts of a mapping with an inversion, without the mapping of it."""
    mappings = aligned(read).mappings[:2]
    mappings["next"] = [1, -1]
    return mappings


@pytest.mark.parametrize(
    ("name", "value", "stretches"),
    [
        ("min_chain_score", 60, 1),
        ("min_chain_score", 61, 0),
        ("max_gap", 60, 1),
        ("max_gap", 59, 0),
        ("min_score", 120, 1),
        ("min_score", 121, 0),
    ],
)
def test_limits_of_stretches(name: str, value: int, stretches: int) -> None:
    """60 bases lie between the parts, and score 120 on the other strand."""
    read = made.exact_read(INVERTED, TARGETS, 4)
    parameters = LONG_PARAMETERS._replace(**{name: value})
    bases = SequenceCodes.of(made.read_codes([read]), made.target_codes(TARGETS))
    found = find_stretches(parts_of(read), bases, SCORING, parameters)
    assert found.left.tolist() == [0] * stretches


@pytest.mark.parametrize(
    ("splits", "stretches"),
    [((1, 2), 1), ((3, 3), 1), ((2, 2), 0), ((1, 1), 0), ((0, 2), 0), ((1, 0), 0)],
)
def test_a_stretch_lies_between_a_part_and_a_later_one(
    splits: tuple[int, int], stretches: int
) -> None:
    """As in `mm_align1_inv`: `r1->split & 1` and `r2->split & 2`."""
    read = made.exact_read(INVERTED, TARGETS, 4)
    parts = parts_of(read)
    bases = SequenceCodes.of(made.read_codes([read]), made.target_codes(TARGETS))
    parts["split"] = splits
    found = find_stretches(parts, bases, SCORING, LONG_PARAMETERS)
    assert found.left.tolist() == [0] * stretches


def test_a_stretch_that_is_not_aligned_is_no_inversion() -> None:
    read = made.exact_read(INVERTED, TARGETS, 4)
    parts = parts_of(read)
    bases = SequenceCodes.of(made.read_codes([read]), made.target_codes(TARGETS))
    stretches = find_stretches(parts, bases, SCORING, LONG_PARAMETERS)
    found = insert_inversions(parts, stretches, no_alignment(), bases, first_operation=0)
    assert found["next"].tolist() == [1, -1]


def test_an_inversion_is_the_neighbour_of_the_next_part() -> None:
    events = [*INVERTED[:2], *INVERTED[:2], *INVERTED]
    found = aligned(made.exact_read(events, TARGETS, 4))
    assert columns(found, *KINDS, "target_start", "target_end") == [
        (1, 0, 0, 0, 100),
        (3, 1, 0, 160, 260),
        (0, 0, 1, 100, 160),
        (3, 1, 0, 320, 420),  # the inversion is before it, not the part: no other inversion
        (2, 1, 0, 480, 600),
        (0, 0, 1, 420, 480),
    ]
    # 24, 24, 24 and 29 anchors: 1000 * 77 / 101 = 762.4, 762 * 53 / 77 = 524.5 (no .5 + .499),
    # 524 * 29 / 53 = 286.7.
    assert found.mappings["score"].tolist() == [238, 238, 0, 237, 287, 0]


def test_random_bases_split_without_inversion() -> None:
    events = [Event("exact", 100), Event("insert", 60), Event("delete", 60), Event("exact", 120)]
    found = aligned(made.exact_read(events, TARGETS, 4), LONG_PARAMETERS._replace(drop=60))
    assert columns(found, *KINDS) == [(1, 0, 0), (2, 0, 0)]
    (_, end, _, target_end), (start, _, target_start, _) = columns(found, *PLACE)
    assert 100 <= end <= start <= 160
    assert 100 <= target_end <= target_start <= 160


def test_too_few_anchors_behind_a_drop_are_lost() -> None:
    read = made.exact_read([*INVERTED[:2], Event("exact", 30)], TARGETS, 4)
    for min_anchors, parts in ((7, 3), (8, 1)):
        found = aligned(read, LONG_PARAMETERS._replace(min_anchors=min_anchors))
        assert found.mappings.size == parts
        assert found.mappings["anchors"][0] == (24 if parts == 3 else 31)
        assert columns(found, *PLACE)[0] == (0, 100, 0, 100)
        assert found.mappings["split"][0] == (parts == 3)


def test_a_fill_above_the_largest_matrix_is_a_drop_without_bases() -> None:
    events = [Event("exact", 100), Event("insert", 60), Event("delete", 60), Event("exact", 120)]
    parameters = LONG_PARAMETERS._replace(drop=1000, inversion_drop=1000, max_cells=3000)
    found = aligned(made.exact_read(events, TARGETS, 4), parameters)
    # The last cut point is 82. Behind it, parts of one anchor follow up to the insertion.
    assert columns(found, "anchors", "split", *PLACE)[0] == (20, 1, 0, 82, 0, 82)
    assert cigars(found)[0] == "82M"
    assert found.mappings["split"].tolist() == [1, 3, 3, 3, 3, 2]
    assert found.mappings["anchors"].tolist() == [20, 1, 1, 1, 1, 29]
    assert columns(found, *PLACE)[-1] == (162, 280, 162, 280)  # no extension either


def test_more_fills_than_in_one_step() -> None:
    """Of 40 fills, some are aligned later, though the left extension drops at once."""
    read = made.exact_read([Event("invert", 100), Event("exact", 790)], TARGETS, 4)
    found = aligned(read, PARAMETERS)
    assert columns(found, *PLACE, "dp_score") == [(100, 890, 100, 890, 1580)]
    assert cigars(found) == ["790M"]


def with_first_anchor(read: Made, anchors: int) -> Made:
    """Return a read whose first cut point is its first base, with this many other anchors."""
    chain = read.chains[0]
    first = Anchor(chain.anchors[0].place, made.K // 2, made.K // 2, made.K)
    return Made(read.codes, [chain._replace(anchors=[first, *chain.anchors[:anchors]])])


def test_a_drop_in_the_first_piece() -> None:
    """The bases at the ends of the inversion are complementary: they are equal, too."""
    events = [Event("exact", 10), Event("invert", 60), Event("exact", 120)]
    found = aligned(with_first_anchor(made.exact_read(events, TARGETS, 4), 100))
    assert columns(found, *KINDS) == [(1, 0, 0), (2, 1, 0), (0, 0, 1)]
    assert columns(found, *PLACE)[:2] == [(0, 11, 0, 11), (69, 190, 69, 190)]


def test_an_extension_is_the_only_piece() -> None:
    found = aligned(with_first_anchor(made.exact_read([Event("exact", 50)], TARGETS, 4), 0))
    assert cigars(found) == ["50M"]


def test_reads_without_mappings() -> None:
    read = made.exact_read(INVERTED, TARGETS, 4)
    batch = [Made([0, 1]), read, Made()]
    aligner = aligner_of(TARGETS, SCORING, LONG_PARAMETERS)
    for reads in (batch, batch[::-1], batch[:1], []):
        parents = [[0] for _ in reads]
        found = aligner.align(
            made.mapping_rows(reads, parents), made.mapped_anchors(reads), made.read_codes(reads)
        )
        counts = [3 * len(each.chains) for each in reads]
        assert np.diff(found.offsets).tolist() == counts
        assert found.mappings["read"].tolist() == np.repeat(range(len(reads)), counts).tolist()
