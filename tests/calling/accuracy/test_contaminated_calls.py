"""False calls of contaminated reads, with and without the removal of contaminating reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calling.accuracy.contaminated_samples import contaminated_sample, counts_of
from tests.haplotypes.made_references import random_text


@pytest.mark.parametrize("fraction", [0.05, pytest.param(0.1, marks=pytest.mark.exhaustive)])
def test_false_calls_are_halved(tmp_path: Path, fraction: float) -> None:
    """At a depth of 30; true variants stay."""
    sample = contaminated_sample(tmp_path, random_text(150_000, 7), 30, fraction, 300, 5)
    before = counts_of(sample, tmp_path / "before.vcf")
    after = counts_of(sample, tmp_path / "after.vcf", "--contamination", str(fraction))
    assert before.false > 20
    assert after.false <= before.false / 2
    assert after.missed <= before.missed + 1
    assert after.right >= before.right
