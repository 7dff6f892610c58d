"""Reference implementation of the ranking of aligned mappings, one read at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from tests.longread.align.cigars.reference import logarithm as log2
from tests.longread.mappings.reference import Interval, masking_primary, overlap, scores_near
from tests.longread.quality.reference import cost_of_secondaries, limited, logarithm, weight_of
from tests.longread.sort.reference import sort_ascending

_MIN_LENGTH: Final = 500
_MIN_FRACTION: Final = float(np.float32(0.9))
_MIN_DIVERGENCE: Final = 0.02


class Rules(NamedTuple):
    """Options and parameters, named as in `AlignParameters`, `AlignScoring`, `MappingOptions`."""

    min_anchors: int
    min_chain_score: int
    min_score: int
    match: int
    mismatch: int
    k: int
    mask_level: float
    score_ratio: float
    max_secondary: int
    all_chains: bool


@dataclass(slots=True)
class AlignedMapping:
    """A mapping with its alignment: as in `MAPPING`; `gaps` are the lengths of the gaps."""

    sequence: int
    query: Interval
    target: Interval
    anchors: int
    score: int
    first_score: int
    hash: int
    matches: int
    length: int
    dp_max: int
    ambiguous: int = 0
    gaps: list[int] = field(default_factory=list)
    is_aligned: bool = True
    is_inversion: bool = False
    second_score: int = 0
    n_sub: int = 0
    number: int = 0
    parent: int = 0
    second_dp_max: int = 0
    quality: int = 0
    is_first_primary: bool = False

    @property
    def is_primary(self) -> bool:
        """True if no other mapping is the parent."""
        return self.parent == self.number


def rank(
    mappings: Sequence[AlignedMapping], length: int, repeat_length: int, rules: Rules
) -> list[AlignedMapping]:
    """Return the mappings of a read to report, in the order of their lines; they are changed."""
    ranked = [mapping for mapping in mappings if _is_good(mapping, rules)]
    if not rules.all_chains:
        _rescale(ranked, length, rules)
        ranked = [mapping for mapping in ranked if _is_good(mapping, rules)]
    ranked = sort_ascending(ranked, key=lambda mapping: mapping.dp_max << 32 | mapping.hash)[::-1]
    if not rules.all_chains:
        _set_parents(ranked, rules)
        ranked = _select(ranked, rules)
        for mapping in [each for each in ranked if each.is_primary][:1]:
            mapping.is_first_primary = True
    _set_qualities(ranked, repeat_length, rules)
    return ranked


def _is_good(mapping: AlignedMapping, rules: Rules) -> bool:
    """Return True for enough anchors, matches and score (`mm_filter_regs`)."""
    return (
        (mapping.is_inversion or mapping.anchors >= rules.min_anchors)
        and mapping.is_aligned
        and mapping.matches >= rules.min_chain_score
        and mapping.dp_max >= rules.min_score
    )


def _rescale(mappings: Sequence[AlignedMapping], length: int, rules: Rules) -> None:
    """Rescale the scores if the two best mappings are about equal (`mm_update_dp_max`)."""
    if length < _MIN_LENGTH or len(mappings) < 2:
        return
    best, second = sorted(mappings, key=lambda mapping: -mapping.dp_max)[:2]
    if best.query.end - best.query.start < length * _MIN_FRACTION:
        return
    if second.dp_max < best.dp_max * _MIN_FRACTION:
        return
    cost = 0.5 / max(1 - identity(best), _MIN_DIVERGENCE)
    if cost * rules.match < rules.mismatch:
        cost = rules.match / rules.mismatch
    for mapping in mappings:
        mismatches = mapping.length + mapping.ambiguous - mapping.matches - sum(mapping.gaps)
        gap_costs = 0.0
        for gap in mapping.gaps:
            gap_costs += cost + float(log2(1 + gap))
        score = rules.match * (mapping.matches - cost * mismatches - gap_costs)
        mapping.dp_max = max(int(score + 0.499), 0)


def identity(mapping: AlignedMapping) -> float:
    """Return the share of matching bases, each gap counted once (`mm_event_identity`)."""
    bases = mapping.length + mapping.ambiguous - sum(mapping.gaps)
    return mapping.matches / (bases + len(mapping.gaps))


def _set_parents(mappings: Sequence[AlignedMapping], rules: Rules) -> None:
    """Set parents, and the best scores of secondaries and their numbers (n_sub).

    `second_score` of all and `n_sub` of the first keep their values of chaining.
    """
    near = 2 * rules.match + rules.mismatch
    primaries: list[AlignedMapping] = []
    for number, mapping in enumerate(mappings):
        mapping.number = number
        found = masking_primary(mapping.query, [each.query for each in primaries], rules.mask_level)
        if found is None:
            mapping.parent = number
            if number > 0:
                mapping.n_sub = 0
            primaries.append(mapping)
            continue
        parent = primaries[found]
        mapping.parent = parent.number
        parent.second_score = max(parent.second_score, mapping.score)
        shorter = min(each.query.end - each.query.start for each in (mapping, parent))
        is_same = _place(mapping) == _place(parent)
        if is_same and overlap(mapping.query, parent.query) == shorter:
            parent.n_sub += mapping.anchors >= parent.anchors
        else:
            parent.second_dp_max = max(parent.second_dp_max, mapping.dp_max)
            is_near = parent.dp_max - mapping.dp_max <= near
            parent.n_sub += mapping.anchors >= parent.anchors or is_near


def _place(mapping: AlignedMapping) -> tuple[int, Interval]:
    return mapping.sequence, mapping.target


def _select(mappings: Sequence[AlignedMapping], rules: Rules) -> list[AlignedMapping]:
    """Keep primaries, inversions and the best of the others, and renumber them.

    As in chaining, kept mappings move up within one array (`mm_select_sub`).
    """
    array = list(mappings)
    kept = secondary = 0
    for mapping in mappings:
        if not (mapping.is_primary or mapping.is_inversion or rules.score_ratio <= 0):
            parent = array[mapping.parent]
            if (
                secondary >= rules.max_secondary
                or not scores_near(mapping.score, parent.score, rules.k, rules.score_ratio)
                or (mapping.query, _place(mapping)) == (parent.query, _place(parent))
            ):
                continue
            secondary += 1
        array[kept] = mapping
        kept += 1
    numbers = {mapping.number: number for number, mapping in enumerate(array[:kept])}
    for mapping in array[:kept]:
        mapping.number, mapping.parent = numbers[mapping.number], numbers[mapping.parent]
    return array[:kept]


def _set_qualities(mappings: Sequence[AlignedMapping], repeat_length: int, rules: Rules) -> None:
    """Set the mapping qualities (`mm_set_mapq2`, `mm_set_inv_mapq`)."""
    total = sum(mapping.score for mapping in mappings if mapping.is_primary)
    for mapping in mappings:
        mapping.quality = 0
        if mapping.is_primary and not mapping.is_inversion:
            weight = weight_of(mapping.score, mapping.anchors, total, repeat_length)
            mapping.quality = _quality(mapping, weight, rules)
    on_reference = sort_ascending(
        [
            mapping
            for index, mapping in enumerate(mappings)
            if mapping.parent == index or mapping.parent < 0
        ],
        key=lambda mapping: mapping.sequence << 32 | mapping.target.start,
    )
    for before, mapping, behind in zip(
        on_reference, on_reference[1:], on_reference[2:], strict=False
    ):
        if mapping.is_inversion:
            mapping.quality = min(before.quality, behind.quality)


def _quality(mapping: AlignedMapping, weight: np.float32, rules: Rules) -> int:
    """Return the quality of a primary mapping, in single precision, each operation rounded."""
    single = np.float32
    match_identity = single(mapping.matches) / single(mapping.length)
    second_score = single(max(mapping.second_score, rules.min_chain_score))
    dp_max, second = mapping.dp_max, mapping.second_dp_max
    scale = match_identity * weight * single(40)
    log = logarithm(float(single(dp_max) / single(rules.match)))
    if second > 0:
        ratio = single(second) * second_score / single(dp_max) / single(mapping.first_score)
        quality = int(scale * (single(1) - ratio * ratio) * log)
        difference = single(6.02) * match_identity * match_identity * single(dp_max - second)
        quality = min(quality, int(difference / single(rules.match) + single(0.499)))
    else:
        ratio = second_score / single(mapping.first_score)
        quality = int(scale * (single(1) - ratio) * log)
    quality = limited(quality - cost_of_secondaries(mapping.n_sub))
    return max(quality, int(dp_max > second))
