"""Lines written on a GPU against those of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hapgpu.longread.options import Difference
from tests.longread.output.alignments.device_cases import (
    ALL,
    FORMS,
    LINE_FORMS,
    Case,
    comment_cases,
    extreme_cases,
    made_cases,
)
from tests.longread.output.alignments.test_minimap2_lines import (
    PAF,
    SAM,
    SETS,
    Literals,
    block_from,
)

pytestmark = pytest.mark.gpu


def check(cases: Iterator[Case]) -> None:
    cupy = pytest.importorskip("cupy")
    from tests.longread.output.alignments.device_lines import check_lines  # noqa: PLC0415

    for made, options, line_options in cases:
        check_lines(made.block(), made.targets, options, line_options, cupy)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", LINE_FORMS)
def test_made_lines(form: str, *, is_sam: bool) -> None:
    check(made_cases(form, is_sam=is_sam, seeds=60))


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
def test_comments(*, is_sam: bool) -> None:
    check(comment_cases(is_sam=is_sam))


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", FORMS)
def test_extreme_lines(form: str, *, is_sam: bool) -> None:
    check(extreme_cases(form, is_sam=is_sam, pairs=40_000))


@pytest.mark.parametrize("difference", Difference)
@pytest.mark.parametrize("literals", SETS, ids=[literals.name for literals in SETS])
def test_real_lines(data_dir: Path, literals: Literals, difference: Difference) -> None:
    cupy = pytest.importorskip("cupy")
    from tests.longread.output.alignments.device_lines import check_lines  # noqa: PLC0415

    made = block_from(data_dir / "longread", literals, "sam")
    for form in (SAM, PAF):
        for splits_matches in (False, True):
            options = replace(form, difference=difference, splits_matches=splits_matches)
            check_lines(made.block, made.targets, ALL, options, cupy)
