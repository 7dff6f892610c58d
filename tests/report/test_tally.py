"""Tallies: exact lengths, caps, and sentences instead of charts of one bar."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hapgpu.report import tally
from hapgpu.report.charts import bars_figure
from hapgpu.report.identities import LengthIdentities
from hapgpu.report.tally import LengthTally, Tally


@pytest.mark.parametrize("limit", [0, 5, 10**6])
def test_lengths_are_exact(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(tally, "_MAX_PENDING", limit)
    chance = random.Random(1)  # noqa: S311  (data for a test)
    lengths = [int(chance.expovariate(1e-4)) for _ in range(500)]
    total = LengthTally()
    for start in range(0, 500, 100):
        total.merge(LengthTally().add(np.array(lengths[start : start + 100])))
    ordered = sorted(lengths, reverse=True)
    n50 = next(n for k, n in enumerate(ordered, 1) if 2 * sum(ordered[:k]) >= sum(ordered))
    assert total.n50() == n50
    assert total.longest == ordered[0]
    found, counts = total.counts()
    assert np.repeat(found, counts).tolist() == sorted(filter(None, lengths))


def test_no_lengths() -> None:
    empty = LengthTally().add(np.zeros(3, dtype=np.int64))
    assert (empty.n50(), empty.longest) == (0, 0)


def test_one_bar_is_a_sentence() -> None:
    counts = Tally(0, 255).add(np.full(1200, 60))
    expected = "<p><b>Quality:</b> 60 for all 1,200 reads.</p>\n"
    assert counts.figure("Quality", "MAPQ", "reads") == expected
    identities = Tally(0, 10_000, 1e-4).add(np.full(3, 9950))
    assert "99.5% for all 3 reads" in identities.figure(
        "Identity", "identity", "reads", x_format="~%"
    )
    lengths = LengthTally().add(np.full(2, 101))
    assert "all 2 reads have 101 bases" in lengths.figure("Lengths", "bases", "reads")
    assert "&lt;b&gt;, 5 reads" in bars_figure("Contigs", {"<b>": 5}, "reads")


def test_several_bars_are_a_chart() -> None:
    assert "<figure>" in Tally(0, 255).add(np.array([0, 60])).figure("t", "x", "y")
    assert "<figure>" in LengthTally().add(np.array([100, 101])).figure("t", "x", "y")
    assert "<figure>" in bars_figure("t", {"a": 1, "b": 2}, "reads")


def test_cap_keeps_all_values() -> None:
    values = np.array([*range(1000), 90_000, 100_000])
    capped = Tally(0, 100_000).add(values).capped()
    assert len(capped) == values.size
    assert capped.counts.size - 1 == 991
    assert capped.counts[-1] == 11
    assert capped.note("", "values of") == "values of 991 and above included in the last bar"


def test_length_and_identity() -> None:
    lengths = np.array([1000] * 500 + [4000] * 300 + [16_000] * 200)
    identities = np.array([9000] * 500 + [9900] * 300 + [10_000] * 198 + [100, 200])
    counts = LengthIdentities().add(lengths, identities)
    identity, plot = counts.figures("reads")
    assert "Identity" in identity
    assert plot.count('"count":') == 4
    assert "included in the lowest row" in plot
    short = LengthIdentities().add(np.full(9, 100), np.arange(9))
    assert len(list(short.figures("reads"))) == 1
