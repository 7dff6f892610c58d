"""`hapgpu.LongReadIndex.map` and `align` on a GPU give the rows of the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hapgpu
from hapgpu.longread import pipeline
from hapgpu.longread.options import PRESETS
from tests.cli.chain.command import Sample
from tests.longread.python.rows import records_of
from tests.longread.python.test_reads import columns_of

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_real_reads(data_dir: Path, name: str) -> None:
    longread = data_dir / "longread"
    index = hapgpu.LongReadIndex.build(longread / "chain" / "ref.fa.gz", preset=name)
    names, bases = records_of(longread / "chain" / "reads.fa.gz")
    expected = columns_of(index.map(bases, names=names, device="cpu"))
    assert columns_of(index.map(bases, names=names, device="cuda")) == expected
    expected = columns_of(index.align(bases, names=names, device="cpu", eqx=True))
    assert columns_of(index.align(bases, names=names, device="cuda", eqx=True)) == expected


@pytest.mark.parametrize("block", [1, 20_000, 64 << 20])
@pytest.mark.parametrize(
    "settings",
    [{}, {"all_chains": True}, {"secondary": False}, {"no_hash_name": True, "max_secondary": 50}],
    ids=["plain", "all chains", "no secondary", "no names"],
)
def test_settings_and_blocks(
    index: hapgpu.LongReadIndex,
    sample: Sample,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    settings: dict[str, Any],
) -> None:
    monkeypatch.setattr(pipeline, "_GPU_BLOCK", block)
    reads = [*sample.reads.values(), "", "ACGT", "n" * 50]
    expected = columns_of(index.map(reads, device="cpu", **settings))
    assert columns_of(index.map(reads, device="cuda:0", **settings)) == expected
    assert len(index.map([], device="cuda")) == 0
    expected = columns_of(index.align(reads, device="cpu", **settings))
    assert columns_of(index.align(reads, device="cuda:0", **settings)) == expected
    assert len(index.align([], device="cuda")) == 0


def test_results_stay(index: hapgpu.LongReadIndex, sample: Sample) -> None:
    """Memory that later calls reuse is not part of a result."""
    reads = list(sample.reads.values())
    first = index.map(reads, device="cuda")
    before = columns_of(first)
    for part in (reads[::-1], reads[:7], reads):
        index.map(part, device="cuda")
    assert columns_of(first) == before
