"""Literal cases of each rule, worked out by hand, for both implementations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hapgpu.longread.align.batches import FILL, LEFT, RIGHT
from hapgpu.longread.align.parameters import align_scoring
from tests.longread.align.pieces.made_plans import (
    PARAMETERS,
    SCORING,
    Case,
    Read,
    compiled_plans,
    from_batch,
    plain_plans,
    to_batch,
)
from tests.longread.align.pieces.reference import Anchor, Chain, Interval, Piece, Plan, Point

Planner = Callable[[Case], tuple[list[Plan], list[Anchor]]]
K = PARAMETERS.k
PLACE = (False, 0)


def plain(case: Case) -> tuple[list[Plan], list[Anchor]]:
    plans = plain_plans(case)
    return plans, case.reads[0].anchors


def compiled(case: Case) -> tuple[list[Plan], list[Anchor]]:
    batch = to_batch(case)
    plans = from_batch(compiled_plans(case, batch), batch)
    anchors = [
        Anchor(
            a.place, a.query, a.target, a.span, a.is_tandem, bool(y >> 41 & 1), bool(y >> 40 & 1)
        )
        for a, y in zip(case.reads[0].anchors, batch.anchors.y.tolist(), strict=True)
    ]
    return plans, anchors


@pytest.fixture(params=[plain, compiled])
def plan(request: pytest.FixtureRequest) -> Planner:
    planner: Planner = request.param
    return planner


def case_of(
    points: Sequence[tuple[int, int]],
    *,
    chains: Sequence[Chain] = (),
    query_length: int = 20_000,
    target_length: int = 30_000,
    tandem: Sequence[int] = (),
    **parameters: Any,
) -> Case:
    """Return a read with anchors at (query, target) on one reference sequence."""
    anchors = [
        Anchor(PLACE, query, target, K, row in tandem) for row, (query, target) in enumerate(points)
    ]
    whole = Chain(0, len(points), matches=10**6)
    read = Read([0] * query_length, anchors, list(chains) or [whole])
    parameters = {"filters_ends": 0} | parameters
    return Case([read], [[0] * target_length], SCORING, PARAMETERS._replace(**parameters))


def used(plan: Plan) -> tuple[int, int]:
    return plan.first, plan.first + plan.size


def ends(plan: Plan) -> list[int]:
    """Return the anchors at the ends of the fills."""
    return [fill.end_anchor for fill in plan.fills]


def steps(*sizes: tuple[int, int], start: tuple[int, int] = (1000, 2000)) -> list[tuple[int, int]]:
    points = [start]
    for query, target in sizes:
        points.append((points[-1][0] + query, points[-1][1] + target))
    return points


def test_pieces_of_a_clean_chain(plan: Planner) -> None:
    """The cut points are in the middle of k-mers, at least 200 bases apart."""
    points = steps(*[(100, 100)] * 5)
    (found,), anchors = plan(case_of(points))
    assert found == Plan(
        first=0,
        size=6,
        start=Point(993, 1993),
        left=Piece(LEFT, Interval(0, 993), Interval(9, 1993), band=751, drop=400),
        fills=[
            Piece(FILL, Interval(993, 1193), Interval(1993, 2193), 30_001, 400, 2),
            Piece(FILL, Interval(1193, 1393), Interval(2193, 2393), 30_001, 400, 4),
            Piece(FILL, Interval(1393, 1493), Interval(2393, 2493), 30_001, 400, 5),
        ],
        right=Piece(RIGHT, Interval(1493, 6493), Interval(2493, 7493), band=751, drop=400),
    )
    assert not any(anchor.is_ignored or anchor.is_long_join for anchor in anchors)


def test_extensions_may_contain_a_gap(plan: Planner) -> None:
    """93 bases score 186; 182 more than to open a gap: 91 bases of gap."""
    points = steps((100, 100), start=(100, 2000))
    (found,), _ = plan(case_of(points, query_length=250))
    assert found.left is not None
    assert found.left.query == (0, 93)
    assert found.left.target == (1993 - 93 - 91, 1993)
    assert found.right is not None
    assert found.right.query == (193, 250)
    assert found.right.target == (2093, 2093 + 57 + (57 * 2 - 4) // 2)


@pytest.mark.parametrize(("gap_open", "length"), [(7, 7), (5, 8)])
def test_a_score_that_opens_no_gap(plan: Planner, gap_open: int, length: int) -> None:
    """Seven bases score seven: a gap must cost less to open."""
    case = case_of(steps((100, 100), start=(14, 2000)))
    case.scoring = align_scoring(1, 4, (gap_open, 2), (30, 1))
    (found,), _ = plan(case)
    assert found.left is not None
    assert found.left.query == (0, 7)
    assert found.left.target == (1993 - length, 1993)


@pytest.mark.parametrize("start", [(K // 2, 2000), (1000, K // 2)])
def test_no_left_extension_at_the_first_base(plan: Planner, start: tuple[int, int]) -> None:
    (found,), _ = plan(case_of(steps((20, 20), (20, 20), start=start)))
    assert found.left is None
    assert found.fills[0].query.start == found.start.query


def test_right_extension_of_the_last_k_mer_only(plan: Planner) -> None:
    points = steps((100, 100))
    (found,), _ = plan(case_of(points, query_length=1101))
    assert found.right is not None
    assert found.right.query == (1093, 1101)


def test_shorter_pieces(plan: Planner) -> None:
    """With min_piece 50, an anchor must be 50 away in the read and in the reference."""
    points = steps((49, 60), (1, 1), (60, 49), (50, 50), (1, 1))
    (found,), _ = plan(case_of(points, min_piece=50))
    assert ends(found) == [2, 4, 5]


def test_tandem_anchors_are_no_cut_points(plan: Planner) -> None:
    """Except for the first and the last one."""
    points = steps(*[(200, 200)] * 4)
    (found,), _ = plan(case_of(points, tandem=[0, 1, 3, 4]))
    assert ends(found) == [2, 4]
    assert found.start.query == 993


def test_single_anchor(plan: Planner) -> None:
    (found,), _ = plan(case_of([(1000, 2000)]))
    assert found.fills == []
    assert used(found) == (0, 1)
    assert found.right is not None
    assert found.right.query.start == found.start.query


def test_second_part_of_an_inversion(plan: Planner) -> None:
    chain = Chain(0, 2, matches=100, is_split_inversion=True)
    (found,), _ = plan(case_of(steps((300, 300)), chains=[chain]))
    assert found.left is not None
    assert found.right is not None
    assert (found.left.drop, found.fills[0].drop, found.right.drop) == (200, 400, 400)


@pytest.mark.parametrize(("gap", "first"), [(7, 0), (8, 1)])
def test_gap_behind_the_first_anchor(plan: Planner, gap: int, first: int) -> None:
    (found,), _ = plan(case_of(steps((20 + gap, 20), *[(20, 20)] * 40), filters_ends=1))
    assert found.first == first


@pytest.mark.parametrize(("gap", "end"), [(7, 42), (8, 41)])
def test_gap_before_the_last_anchor(plan: Planner, gap: int, end: int) -> None:
    (found,), _ = plan(case_of(steps(*[(20, 20)] * 40, (20, 20 + gap)), filters_ends=1))
    assert used(found) == (0, end)


def test_ends_may_stay(plan: Planner) -> None:
    points = steps((60, 20), *[(20, 20)] * 40)
    assert plan(case_of(points, filters_ends=0))[0][0].first == 0
    assert plan(case_of(points, filters_ends=1))[0][0].first == 1
    assert plan(case_of(points[:2], filters_ends=1))[0][0].first == 0


@pytest.mark.parametrize(("before", "first"), [(32, 33), (33, 0)])
def test_500_matching_bases_are_reliable(plan: Planner, before: int, first: int) -> None:
    """After 33 anchors of 15 new bases, 15 + 33 * 15 = 510 match, as many as the band is wide."""
    points = steps(*[(15, 15)] * before, (15, 900), *[(15, 15)] * 60)
    (found,), _ = plan(case_of(points, filters_ends=1))
    assert found.first == first


def test_1000_bases_are_reliable(plan: Planner) -> None:
    """15 + 8 * 109 + 112 = 999 bases are not enough."""
    for last, first in ((112, 10), (113, 0)):
        points = steps(*[(109, 109)] * 8, (last, last), (10, 900), *[(100, 100)] * 20)
        assert plan(case_of(points, filters_ends=1))[0][0].first == first


@pytest.mark.parametrize(("matches", "first"), [(60, 0), (62, 2)])
def test_half_of_the_matches_are_reliable(plan: Planner, matches: int, first: int) -> None:
    """One anchor further, 30 bases match."""
    points = steps((15, 15), (15, 100), (15, 15), (15, 15), (15, 15))
    (found,), _ = plan(case_of(points, chains=[Chain(0, len(points), matches)], filters_ends=1))
    assert found.first == first


def test_both_ends_never_cross(plan: Planner) -> None:
    """The filter leaves two anchors at least."""
    (found,), _ = plan(case_of(steps((20, 300), (300, 20), (20, 300)), filters_ends=1))
    assert used(found) == (2, 4)


def test_long_join_stops_the_filter(plan: Planner) -> None:
    case = case_of(steps((60, 20), *[(20, 20)] * 3, (20, 60)), filters_ends=1)
    for row in (1, 5):
        case.reads[0].anchors[row].is_long_join = True
    (found,), _ = plan(case)
    assert used(found) == (0, 6)


def ignored(anchors: Sequence[Anchor]) -> list[int]:
    return [row for row, anchor in enumerate(anchors) if anchor.is_ignored]


def joined(anchors: Sequence[Anchor]) -> list[int]:
    return [row for row, anchor in enumerate(anchors) if anchor.is_long_join]


@pytest.mark.parametrize(("gap", "expected"), [(20, []), (21, [2, 3])])
def test_gaps_that_cancel(plan: Planner, gap: int, expected: list[int]) -> None:
    """An insertion and a deletion of 21 bases cancel 42 bases, more than 40."""
    points = steps((50, 50), (50 + gap, 50), (50, 50), (50, 50 + gap), (50, 50))
    _, anchors = plan(case_of(points))
    assert ignored(anchors) == expected
    assert joined(anchors) == []


def test_gaps_of_at_most_10_bases_do_not_count(plan: Planner) -> None:
    points = steps((50, 50), *[(60, 50), (50, 60)] * 6, (50, 50))
    assert ignored(plan(case_of(points))[1]) == []
    points = steps((50, 50), *[(61, 50), (50, 61)] * 6, (50, 50))
    assert ignored(plan(case_of(points))[1]) == [*range(2, 11)]


def test_gaps_cancel_within_reach(plan: Planner) -> None:
    """The last gap must end within max_gap / 2 of the anchor before the first one."""
    points = steps((50, 50), (75, 50), (50, 50), (50, 75), (50, 50))
    assert ignored(plan(case_of(points, max_gap=350))[1]) == [2, 3]
    assert ignored(plan(case_of(points, max_gap=349))[1]) == []


def test_gaps_cancel_within_ten_gaps(plan: Planner) -> None:
    """The deletion is the tenth, or the eleventh, gap behind the first."""
    for between, expected in ((9, 1), (10, 2)):
        insertions = [(61, 50)] + [(61, 50)] * between
        points = steps((50, 50), *insertions, (50, 72), (50, 50))
        found = ignored(plan(case_of(points))[1])
        assert found == [*range(expected + 1, between + 3)]


def test_the_range_that_cancels_most_wins(plan: Planner) -> None:
    """The second range overlaps the first, whose reach ends before the last gap."""
    points = steps((50, 50), (75, 50), (80, 50), (50, 72), (50, 80), (50, 50))
    assert ignored(plan(case_of(points, max_gap=440))[1]) == [3, 4]
    assert ignored(plan(case_of(points, max_gap=600))[1]) == [2, 3, 4]


@pytest.mark.parametrize(("matched", "is_join"), [(80, True), (81, False)])
def test_long_gaps_around_a_short_match(plan: Planner, matched: int, is_join: bool) -> None:
    """Two insertions of 40 bases, and not more matching bases between them."""
    step = matched - K
    points = steps((50, 50), (90, 50), (step, step), (90, 50), (50, 50))
    (found,), anchors = plan(case_of(points))
    assert ignored(anchors) == ([2, 3] if is_join else [])
    assert joined(anchors) == ([4] if is_join else [])
    assert ends(found) == [4, 5]
    assert found.fills[0].band == (50 + 90 + step + 90 if is_join else 30_001)


def test_gaps_of_at_most_30_bases_are_not_long(plan: Planner) -> None:
    for gap, expected in ((30, []), (31, [3])):
        points = steps((50, 50), (50 + gap, 50), (50 + gap, 50), (50, 50))
        _, anchors = plan(case_of(points))
        assert joined(anchors) == expected


@pytest.mark.parametrize("gap", [(90, 50), (50, 90)])
def test_long_gaps_within_reach(plan: Planner, gap: tuple[int, int]) -> None:
    points = steps((50, 50), gap, gap, (50, 50))
    assert joined(plan(case_of(points, max_gap=180))[1]) == [3]
    assert joined(plan(case_of(points, max_gap=179))[1]) == []


def test_a_row_of_long_gaps(plan: Planner) -> None:
    """Only the anchor behind the last gap is a cut point, and then one that is far away."""
    points = steps((50, 50), *[(90, 50)] * 3, (30, 30), (170, 170), (10, 10))
    (found,), anchors = plan(case_of(points))
    assert ignored(anchors) == [2, 3]
    assert joined(anchors) == [4]
    assert ends(found) == [4, 6, 7]


def test_limit_by_earlier_anchors(plan: Planner) -> None:
    """The start of the fourth anchor before is 400 bases away."""
    near = steps(*[(100, 100)] * 5, start=(500, 1500))
    chains = [Chain(0, 6, 90), Chain(6, 3, 45)]
    points = [*near, *steps((100, 100), (100, 100), start=(1100, 2100))]
    found = plan(case_of(points, chains=chains))[0][1]
    assert found.left is not None
    assert found.left.query == (1086 - 400, 1093)
    assert found.left.target == (2086 - 400, 2093)
    nearer = plan(case_of(points, chains=chains, min_anchors=1))[0][1]
    assert nearer.left is not None
    assert nearer.left.query.start == 1086 - 200


@pytest.mark.parametrize("other", [(900, 3000), (1100, 1500), (900, 2100)])
def test_earlier_anchors_that_are_not_before(plan: Planner, other: tuple[int, int]) -> None:
    """An anchor counts if it starts earlier both in the read and in the reference."""
    near = [other, *steps((10, 10), (10, 10), start=(1060, 2060))]
    chains = [Chain(len(near), 3, 45)]
    points = [*near, *steps((100, 100), (100, 100), start=(1100, 2100))]
    (found,), _ = plan(case_of(points, chains=chains))
    assert found.left is not None
    assert found.left.query.start == 0


def test_limit_by_later_anchors(plan: Planner) -> None:
    points = steps((100, 100), (100, 100))
    later = steps(*[(100, 150)] * 5, start=(1300, 2300))
    chains = [Chain(0, 3, 45), Chain(3, 6, 90)]
    found = plan(case_of([*points, *later], chains=chains))[0][0]
    assert found.right is not None
    assert found.right.query == (1193, 1201 + 100 + 3 * 150)
    assert found.right.target == (2193, 2201 + 100 + 3 * 150)


@pytest.mark.parametrize("other", [(1400, 900), (1200, 2900), (1400, 2200)])
def test_later_anchors_that_are_not_behind(plan: Planner, other: tuple[int, int]) -> None:
    """An anchor counts if it ends later both in the read and in the reference."""
    points = steps((100, 100), (100, 100))
    later = [*steps((10, 10), (10, 10), start=(1210, 2210)), other]
    found = plan(case_of([*points, *later], chains=[Chain(0, 3, 45)]))[0][0]
    assert found.right is not None
    assert found.right.query == (1193, 1193 + 5000)


def test_other_strands_and_reads_are_no_limit(plan: Planner) -> None:
    points = steps(*[(100, 100)] * 5, start=(500, 1500))
    case = case_of(
        [*points, *steps((100, 100), (100, 100), start=(1100, 2100))], chains=[Chain(6, 3, 45)]
    )
    for anchor in case.reads[0].anchors[:6]:
        anchor.place = (True, 0)
    assert plan(case)[0][0].left == Piece(LEFT, Interval(0, 1093), Interval(0, 2093), 751, 400)
    one, other = case.reads[0].anchors[:6], case.reads[0].anchors[6:]
    for anchor in one:
        anchor.place = PLACE
    codes = case.reads[0].codes
    case.reads = [Read(codes, one, [Chain(0, 6, 90)]), Read(codes, other, [Chain(0, 3, 45)])]
    left = plain_plans(case)[1].left
    assert left is not None
    assert left.query.start == 0
    batch = to_batch(case)
    assert from_batch(compiled_plans(case, batch), batch)[1].left == left


def test_second_part_is_limited_by_the_first(plan: Planner) -> None:
    points = steps(*[(100, 100)] * 9)
    found = plan(case_of(points, chains=[Chain(0, 5, 75), Chain(5, 5, 75)]))[0]
    assert found[0].right is not None
    assert found[0].right.query == (1393, 1401 + 400)
    assert found[1].left is not None
    assert found[1].left.query == (1486 - 400, 1493)


def compressed(query: str, target: str, *points: tuple[int, int]) -> Case:
    codes = [["ACGT".index(base) for base in text] for text in (query, target)]
    anchors = [Anchor(PLACE, *point, 1) for point in points]
    chain = Chain(0, len(points), 10**6)
    return Case(
        [Read(codes[0], anchors, [chain])], [codes[1]], SCORING, PARAMETERS._replace(is_hpc=1, k=1)
    )


def test_cut_points_at_the_start_of_homopolymers(plan: Planner) -> None:
    (found,), _ = plan(compressed("TTCGGGGA", "CAAAGGTT", (5, 5), (7, 7)))
    assert found.start == (3, 4)


def test_homopolymer_at_the_start(plan: Planner) -> None:
    """At base 0 of the reference, whatever its last base, but only at base 1 of the read."""
    (found,), _ = plan(compressed("GGGGA", "GGGGAG", (2, 2), (4, 4)))
    assert found.start == (1, 0)
    assert found.left is None
    (found,), _ = plan(compressed("GGGGA", "GGGGA", (0, 0), (4, 4)))
    assert found.start == (0, 0)


def test_reverse_strand(plan: Planner) -> None:
    """Homopolymers are those of the reverse complement, AAGG here."""
    case = compressed("CCTT", "TAAGG", (1, 2), (3, 4))
    case.reads[0].anchors = [Anchor((True, 0), *point, 1) for point in ((1, 2), (3, 4))]
    (found,), _ = plan(case)
    assert found.start == (1, 1)
    assert found.fills == [Piece(FILL, Interval(1, 2), Interval(1, 3), 30_001, 400, 1)]
