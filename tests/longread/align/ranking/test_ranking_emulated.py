"""Ranking by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from hapgpu.longread.align.ranking import rank as rank_on_cpu
from tests.emulation.emulator import emulate
from tests.longread.align.ranking.made_reads import any_reads, any_rules, small_cases
from tests.longread.align.ranking.ranked_reads import RankingInputs

pytest.importorskip("cupy")

from hapgpu.longread.cuda.align import logarithms, ranking, rows


@pytest.fixture(autouse=True)
def _emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    emulate(monkeypatch, logarithms, ranking, rows)
    monkeypatch.setattr(logarithms, "_score_table", logarithms._score_table.__wrapped__)
    monkeypatch.setattr(logarithms, "_cost_table", logarithms._cost_table.__wrapped__)


def check(inputs: RankingInputs) -> None:
    aligned = inputs.aligned
    before = aligned.mappings.copy()
    expected = rank_on_cpu(*inputs)
    on_device = AlignedMappings(
        rows.uploaded_rows(aligned.mappings), aligned.operations, aligned.offsets
    )
    found = ranking.rank(on_device, *inputs[1:])
    assert found.operations is aligned.operations
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    ranked = rows.downloaded_rows(found.mappings, MAPPING)
    for name in MAPPING.names or ():
        np.testing.assert_array_equal(ranked[name], expected.mappings[name], err_msg=name)
    np.testing.assert_array_equal(aligned.mappings, before)


def test_reads_of_all_kinds() -> None:
    for inputs in small_cases():
        check(inputs)


def test_scores_beyond_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logarithms, "MAX_SIZE", 100)
    for seed in (0, 1, 4):
        check(any_reads(seed, [3, 0, 20, 1], any_rules(seed)))
