"""Options of base alignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hapgpu.cli.options.align import LineArguments
from hapgpu.runtime.compiled.signatures import read_groups


@pytest.mark.parametrize(
    ("arguments", "output", "expected"),
    [
        ({"sam": True}, None, "-a"),
        ({"sam": True, "cigar": True}, None, "-a"),
        ({}, Path("x.bam"), "-a"),
        ({"cigar": True}, None, "-c"),
        ({"cs": "short", "paf": True}, Path("x.bam"), "-c"),
    ],
)
def test_functions_follow_the_format(
    arguments: dict[str, Any], output: Path | None, expected: str
) -> None:
    form = LineArguments(**arguments).alignment_form(output, (), with_pg=True)
    assert form is not None
    assert form.variant == [expected]
    assert f"chain cpu {expected}" in read_groups()


def test_mapping_has_no_form() -> None:
    assert LineArguments().alignment_form(Path("x.paf"), (), with_pg=True) is None
