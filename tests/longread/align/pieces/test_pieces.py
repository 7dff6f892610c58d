"""Compiled planning of pieces against the reference implementation."""

from __future__ import annotations

from hypothesis import given, settings

from tests.longread.align.pieces.made_plans import (
    CASES,
    Case,
    compiled_plans,
    from_batch,
    plain_plans,
    to_batch,
    words,
)


@settings(max_examples=200)
@given(CASES)
def test_plans_equal_the_reference(case: Case) -> None:
    batch = to_batch(case)
    found = from_batch(compiled_plans(case, batch), batch)
    assert found == plain_plans(case)
    _, marked = words([anchor for read in case.reads for anchor in read.anchors])
    assert batch.anchors.y.tolist() == marked.tolist()
