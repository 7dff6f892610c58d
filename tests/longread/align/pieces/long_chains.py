"""Long made-up chains, in which lanes of a warp and its rounds have to agree."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Final

from tests.longread.align.pieces.made_plans import PARAMETERS, SCORING, Case, Read
from tests.longread.align.pieces.reference import Anchor, Chain

_GAPS: Final = {
    "straight": [0],
    "small gaps": [0, 0, 1, -2, 9, -11],
    "cancelling gaps": [0] * 6 + [25, -25, 15, -40],
    "long gaps": [0] * 3 + [31, -35, 90, -90, 400],
    "only gaps": [12, -12, 31, -31, 50, -60],
}
SHAPES: Final = (*_GAPS, "unreliable ends", "flagged", "parts")


def long_chain(shape: str, seed: int, size: int) -> Case:
    """Return a read with a chain of `size` anchors of one of `SHAPES`."""
    random = Random(seed)  # noqa: S311  (no secrets)
    gaps = _GAPS.get(shape, _GAPS["small gaps"])
    anchors = _anchors(random, gaps, size, is_flagged=shape == "flagged")
    whole = Chain(0, size, matches=random.choice([size, 10**6]))
    chains = _parts(random, size) if shape == "parts" else [whole]
    sizes = (anchors[-1].query + random.choice([1, 700]), anchors[-1].target + 900)
    codes = [random.choices(range(4), k=length) for length in sizes]
    unreliable = {"bandwidth": 10**6, "min_chain_score": 10**6, "min_anchors": 40}
    changed = unreliable if shape in ("unreliable ends", "parts") else {"min_piece": 30}
    changed["is_hpc"] = seed % 2
    return Case(
        [Read(codes[0], anchors, chains)], [codes[1]], SCORING, PARAMETERS._replace(**changed)
    )


def _anchors(random: Random, gaps: list[int], size: int, *, is_flagged: bool) -> list[Anchor]:
    query, target = 500, 900
    anchors = []
    for _ in range(size):
        flags = [is_flagged and random.random() < share for share in (0.5, 0.1, 0.05)]
        anchors.append(Anchor((False, 0), query, target, PARAMETERS.k, *flags))
        step, gap = random.choice([1, 4, 9, 30]), random.choice(gaps)
        query, target = query + step + max(gap, 0), target + step + max(-gap, 0)
    return anchors


def _parts(random: Random, size: int) -> list[Chain]:
    """Cut the chain into parts, as splits do."""
    cuts = [0, *sorted(random.sample(range(1, size), min(4, size - 1))), size]
    return [
        Chain(start, end - start, matches=10**6, is_split_inversion=start % 2 == 1)
        for start, end in pairwise(cuts)
    ]
