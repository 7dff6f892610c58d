"""Lines of genotyped records of extreme sizes, against Python's formatting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.calls import vcf_lines
from hapgpu.io.text.builder import TextBuilder
from tests.genotyping.calls.test_vcf_lines import (
    alternatives_of,
    batch_of,
    calls_of,
    expected_line,
    record_of,
)

NOTE = "NOTE=" + "x" * 100_000
LEAST, LARGEST = -(2**31) + 1, 2**31 - 1


@pytest.mark.parametrize("ploidy", [1, 4])
@pytest.mark.parametrize("info", [NOTE, ";".join(["XDP"] * 50_000), f"DP=1;{NOTE}"])
@pytest.mark.parametrize("number", [LEAST, LARGEST])
def test_long_fields_and_wide_numbers(
    ploidy: int, info: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vcf_lines, "_LINES", TextBuilder(1))
    alternatives = ["G" * 100_000, *alternatives_of(12)]
    records = [record_of(2**31 - 1, alternatives, "i" * 100_000, "PASS", info)] * 3
    calls = calls_of([len(alternatives) + 1] * 3, 40, ploidy, 0)

    def wide(rows: Ragged) -> Ragged:
        return Ragged(np.full_like(rows.data, number), rows.offsets)

    calls = replace(
        calls,
        genotypes=np.full_like(calls.genotypes, np.iinfo(np.int16).max),
        qualities=np.full_like(calls.qualities, np.iinfo(np.int16).max),
        depths=np.full_like(calls.depths, number),
        allele_depths=wide(calls.allele_depths),
        phred_likelihoods=wide(calls.phred_likelihoods),
        variant_qualities=np.array([2.0**45 + 0.25, 0.01, np.nan]),
    )
    text = vcf_lines.call_lines(batch_of(records), calls).decode()
    assert text == "".join(f"{expected_line(r, calls, k)}\n" for k, r in enumerate(records))
