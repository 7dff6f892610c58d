"""Aligned mappings of made-up reads, as batches and back."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from hapgpu.longread.align.parameters import (
    AlignParameters,
    AlignScoring,
    align_parameters,
    align_scoring,
)
from hapgpu.longread.align.ranking import rank
from hapgpu.longread.options import PRESETS, MappingOptions
from tests.longread.align.ranking.reference import AlignedMapping, Rules
from tests.longread.mappings.reference import Interval

RULES: Final = Rules(
    min_anchors=3,
    min_chain_score=40,
    min_score=80,
    match=2,
    mismatch=4,
    k=15,
    mask_level=0.5,
    score_ratio=0.8,
    max_secondary=5,
    all_chains=False,
)
_COLUMNS: Final = (
    *("sequence", "anchors", "score", "first_score", "second_score", "n_sub", "hash", "number"),
    *("parent", "is_inversion", "matches", "length", "ambiguous", "dp_max", "second_dp_max"),
    *("quality", "is_first_primary"),
)


def mapping_at(
    start: int, end: int, *, target: int = 10_000, sequence: int = 0, **fields: int
) -> AlignedMapping:
    """Return a mapping without differences, at the same distances on the reference."""
    bases = end - start
    mapping = AlignedMapping(
        sequence=sequence,
        query=Interval(start, end),
        target=Interval(target + start, target + end),
        anchors=20,
        score=bases,
        first_score=bases,
        hash=0,
        matches=bases,
        length=bases,
        dp_max=2 * bases,
    )
    return replace(mapping, **fields)


class RankingInputs(NamedTuple):
    """Arguments of `rank`."""

    aligned: AlignedMappings
    lengths: NDArray[np.int32]
    repeat_lengths: NDArray[np.int32]
    options: MappingOptions
    scoring: AlignScoring
    parameters: AlignParameters


def inputs_of(
    reads: Sequence[Sequence[AlignedMapping]],
    lengths: Sequence[int],
    repeat_lengths: Sequence[int],
    rules: Rules = RULES,
) -> RankingInputs:
    """Return the arguments with which to rank the mappings of reads."""
    return RankingInputs(
        _batch_of(reads),
        np.array(lengths, dtype=np.int32),
        np.array(repeat_lengths, dtype=np.int32),
        MappingOptions(
            mask_level=rules.mask_level,
            score_ratio=rules.score_ratio,
            max_secondary=rules.max_secondary,
            all_chains=rules.all_chains,
        ),
        align_scoring(rules.match, rules.mismatch, (4, 2), (24, 1)),
        _parameters_of(rules),
    )


def ranked(
    reads: Sequence[Sequence[AlignedMapping]],
    lengths: Sequence[int],
    repeat_lengths: Sequence[int],
    rules: Rules = RULES,
) -> list[list[AlignedMapping]]:
    """Rank the mappings of reads on the CPU."""
    inputs = inputs_of(reads, lengths, repeat_lengths, rules)
    before = inputs.aligned.mappings.copy()
    found = rank(*inputs)
    assert (inputs.aligned.mappings == before).all()
    assert found.operations is inputs.aligned.operations
    own = [mapping for read in reads for mapping in read]
    by_row = [_mapping_of(row, own) for row in found.mappings]
    bounds = found.offsets.tolist()
    return [by_row[start:end] for start, end in pairwise(bounds)]


def _batch_of(reads: Sequence[Sequence[AlignedMapping]]) -> AlignedMappings:
    operations: list[int] = [5 << 4 | 1]
    rows = np.zeros(sum(map(len, reads)), dtype=MAPPING)
    numbered = [(read, mapping) for read, own in enumerate(reads) for mapping in own]
    for at, (read, mapping) in enumerate(numbered):
        row = rows[at]
        for name in _COLUMNS:
            row[name] = getattr(mapping, name)
        row["read"] = read
        row["next"] = at
        row["query_start"], row["query_end"] = mapping.query
        row["target_start"], row["target_end"] = mapping.target
        row["gaps"], row["gap_bases"] = len(mapping.gaps), sum(mapping.gaps)
        cigar = [1 << 4]
        for gap in mapping.gaps:
            cigar += [gap << 4 | 1 + gap % 2, 1 << 4]
        row["first_operation"] = len(operations)
        row["operations"] = len(cigar) if mapping.is_aligned else 0
        operations += cigar
    return AlignedMappings(
        rows,
        np.array(operations, dtype=np.uint32),
        np.cumsum([0, *map(len, reads)], dtype=np.int64),
    )


def _mapping_of(row: np.void, own: Sequence[AlignedMapping]) -> AlignedMapping:
    mapping = deepcopy(own[row["next"]])
    for name in _COLUMNS:
        setattr(mapping, name, row[name].item())
    return mapping


def _parameters_of(rules: Rules) -> AlignParameters:
    preset = PRESETS["map-ont"]
    return align_parameters(preset, preset.sketch)._replace(
        k=rules.k,
        min_anchors=rules.min_anchors,
        min_chain_score=rules.min_chain_score,
        min_score=rules.min_score,
    )
