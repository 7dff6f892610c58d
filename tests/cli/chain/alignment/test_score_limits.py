"""Scores of base alignment at the limits that `hapgpu chain` accepts."""

from __future__ import annotations

from typing import Any

import pytest

from hapgpu.cli.options.align import AlignArguments
from hapgpu.cli.options.numbers import OneOrTwo
from hapgpu.errors import UsageError
from hapgpu.longread.options import AlignOptions, LongReadOptions
from hapgpu.longread.settings import long_read_options


def options_with(**arguments: Any) -> AlignOptions:
    settings = AlignArguments(**arguments).settings()
    return long_read_options(LongReadOptions(), settings).align


@pytest.mark.parametrize(
    "arguments",
    [
        {"match": 1},
        {"match": 121, "mismatch": 12, "transition": 12},
        {"match": 1, "mismatch": 126, "gap_open_or_format": ["1"], "gap_extend": OneOrTwo(62)},
        {"match": 27, "gap_open_or_format": ["40"], "gap_extend": OneOrTwo(10)},
        {"gap_open_or_format": ["4,120"]},
        {"ambiguous": 3},
        {"drops": OneOrTwo(1_000_000_000), "end_bonus": 1_000_000_000},
        {"drops": OneOrTwo(0)},
    ],
)
def test_largest_scores_are_accepted(arguments: dict[str, int]) -> None:
    options_with(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"match": 0}, "-A 0: must be from 1 to 121 with -O 4,24 -E 2,1; change it"),
        ({"match": 122}, "-A 122: must be from 1 to 121 with -O 4,24 -E 2,1; change it"),
        (
            {"match": 28, "gap_open_or_format": ["40"], "gap_extend": OneOrTwo(10)},
            "-A 28: must be from 1 to 27 with -O 40,40 -E 10,10; change it",
        ),
        (
            {"mismatch": 13},
            "-B 13: must be at most 12, twice the cost of a gap of one base; reduce it",
        ),
        (
            {"transition": 13},
            "-b 13: must be at most 12, twice the cost of a gap of one base; reduce it",
        ),
        (
            {"gap_open_or_format": ["4,121"]},
            "-O 4,121 -E 2,1: their sum must be at most 127; reduce them",
        ),
        ({"ambiguous": 4}, "--score-N 4: must be less than -B 4; reduce it"),
        ({"end_bonus": 1_000_000_001}, "--end-bonus 1000000001: must be at most 1,000,000,000"),
        ({"drops": OneOrTwo(1_000_000_001)}, "-z 1000000001: must be at most 1,000,000,000"),
        ({"drops": OneOrTwo(1, 2)}, "-z 1,2: the second number is larger; reduce it"),
    ],
)
def test_larger_scores_are_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        options_with(**arguments)
    assert str(caught.value) == message
